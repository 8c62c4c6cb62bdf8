import sql, { raw } from "sql-template-tag";
import { text, textOrNull } from "../data-api/client.ts";
import { release } from "../data-api/release.ts";
import type { Send } from "../data-api/transaction.ts";
import history from "./history.sql";
import { applyOnce, withMigrationLock } from "./migration-lock.ts";
import { runScript, type Script } from "./script.ts";
import { applySlowly, slowMark } from "./slow.ts";
import type { Migration } from "./tables/all.ts";

/**
 * Applies the missing migrations, each in one transaction with its row in the table of migrations, or slowly (slow.ts),
 * and then records the history of all tables. Of two runs at once the second waits for the first, and then has nothing
 * to do.
 * @param endBy until when it waits for slow ones, by `performance.now()`
 * @returns the names of those applied now
 * @throws when the database has begun with other migrations, when an applied migration has been changed since, or when
 *   one fails, or is slow and has not ended in time; the message names the file
 */
export async function migrate(migrations: readonly Migration[], endBy = Number.POSITIVE_INFINITY): Promise<string[]> {
  await withMigrationLock(async (send) => {
    await send(sql`
      create table if not exists migrations (
        name text primary key,
        checksum text not null,
        applied_at timestamptz not null default now()
      )
    `);
    await refuseOtherHistory(migrations, send);
  });
  const applied: string[] = [];
  for (const migration of migrations) {
    try {
      const isSlow = slowMark.test(migration.text);
      const isNew = isSlow ? await applySlowly(migration, endBy) : await applyAtOnce(migration);
      if (isNew) applied.push(migration.name);
    } catch (error) {
      const message = error instanceof Error ? error.message : error;
      throw new Error(`Migration ${migration.name} failed: ${message}`, { cause: error });
    }
  }
  await withMigrationLock((send) => runScript({ path: "lib/migrations/history.sql", text: history }, send));
  return applied;
}

/** @throws when the first migration of the database is not the first one of this release */
async function refuseOtherHistory([first]: readonly Migration[], send: Send): Promise<void> {
  const [row] = await send(sql`select name from migrations order by applied_at, name limit 1`);
  if (row && text(row, 0) !== first?.name) throw new Error(otherHistory);
}

const otherHistory =
  "The database was made by migrations that this release does not have. Nothing was changed. Export its catalogue with \
the release that made it, and import it into an empty database; with `npm start`, name another folder by --data DIR";

/** @throws when no migration has ever reached the database */
export async function refuseEmptyDatabase(): Promise<void> {
  const [row = []] = await withMigrationLock((send) => send(sql`select to_regclass('migrations')::text`));
  if (textOrNull(row, 0) === null) throw new Error(emptyDatabase);
}

const emptyDatabase =
  "The database is empty, and before this deployment there was one with data. Is the setting \
`snapshot` missing? If the database is to begin anew, set `mayBeEmpty` for this deployment";

const applyAtOnce = (migration: Migration) =>
  applyOnce(migration, async (send) => {
    // A statement that waits for a lock blocks all later ones. So it rather fails, and the deployment is tried again.
    await send(sql`set local lock_timeout = '3s'`);
    await runScript(migration, send);
    return true;
  });

/**
 * Installs the database functions of this release, unless they are installed already. They have their own schema, so
 * earlier releases, which may still be running, go on calling theirs.
 */
export async function install(scripts: readonly Script[]): Promise<void> {
  await withMigrationLock(async (send) => {
    const [installed] = await send(sql`
      insert into releases as release (schema)
      values (${release}::text)
      on conflict (schema) do update set installed_at = now()
      returning release.xmax::text
    `);
    if (installed && text(installed, 0) !== "0") return;
    // A schema without a row in `releases` was left by something else.
    await send(sql`drop schema if exists ${raw(release)} cascade`);
    await send(sql`create schema ${raw(release)}`);
    // Functions that run with the rights of their owner keep this path: so they find each other and the tables, whatever a
    // caller sets or creates.
    await send(sql`set local search_path = ${raw(release)}, public, pg_temp`);
    for (const script of scripts) await runScript(script, send);
  });
}
