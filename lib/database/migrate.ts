import { createHash } from "node:crypto";
import sql, { raw } from "sql-template-tag";
import type { Migration } from "./migrations/all.ts";
import { text } from "./read.ts";
import { release } from "./release.ts";
import { type Send, transaction } from "./transaction.ts";

/** Any number that no other lock of the database uses. */
const migrationLock = 4_702_135;

/**
 * Applies the migrations that the database does not have, each in a transaction with its row in the ledger. Two runs
 * at once queue up behind a lock; the second finds the work done.
 * @returns the names of those applied now
 * @throws when a migration that has been applied was changed since, or when one fails; the message names the file
 */
export async function migrate(migrations: readonly Migration[]): Promise<string[]> {
  await transaction(createLedger);
  const applied: string[] = [];
  for (const migration of migrations) {
    try {
      if (await transaction((send) => apply(migration, send))) applied.push(migration.name);
    } catch (error) {
      throw new Error(`Migration ${migration.name} failed: ${error instanceof Error ? error.message : error}`, {
        cause: error,
      });
    }
  }
  return applied;
}

async function createLedger(send: Send): Promise<void> {
  await send(sql`select pg_advisory_xact_lock(${migrationLock}::bigint)::text`);
  await send(sql`
    create table if not exists migrations (
      name text primary key,
      checksum text not null,
      applied_at timestamptz not null default now()
    )
  `);
}

async function apply(migration: Migration, send: Send): Promise<boolean> {
  const checksum = createHash("sha256").update(migration.text).digest("hex");
  await send(sql`select pg_advisory_xact_lock(${migrationLock}::bigint)::text`);
  const [landed] = await send(sql`select checksum from migrations where name = ${migration.name}::text`);
  if (landed) {
    if (text(landed, 0) !== checksum) throw new Error("the file was changed after it had been applied");
    return false;
  }
  // Whoever waits for a lock holds up all who come after: visitors go first, and the deployment is tried again.
  await send(sql`set local lock_timeout = '3s'`);
  for (const statement of statements(migration.text)) await send(raw(statement));
  await send(sql`insert into migrations (name, checksum) values (${migration.name}::text, ${checksum}::text)`);
  return true;
}

/**
 * Installs the functions by which this release changes something, unless that has been done. They have a schema of their
 * own, so that earlier releases, which may still be running, go on calling theirs.
 */
export async function install(files: readonly string[]): Promise<void> {
  await transaction(async (send) => {
    await send(sql`select pg_advisory_xact_lock(${migrationLock}::bigint)::text`);
    const [installed] = await send(sql`
      insert into releases as release (schema)
      values (${release}::text)
      on conflict (schema) do update set installed_at = now()
      returning release.xmax::text
    `);
    if (installed && text(installed, 0) !== "0") return;
    // What somebody has left there without a row in the ledger is of no use.
    await send(sql`drop schema if exists ${raw(release)} cascade`);
    await send(sql`create schema ${raw(release)}`);
    await send(sql`set local search_path = ${raw(release)}, public`);
    for (const file of files) for (const statement of statements(file)) await send(raw(statement));
    await send(raw(fixSearchPath));
  });
}

/** Whatever a session has set, the functions that are called find each other, and the tables. */
const fixSearchPath = `
  do $$
    declare
      entry text;
    begin
      for entry in
        select cast(cast(oid as regprocedure) as text)
        from pg_proc
        where pronamespace = cast('${release}' as regnamespace)
          and (proname ~ '^(admitted|caller$|commanded|open_)' or prorettype = cast('${release}.outcome' as regtype))
      loop
        execute 'alter function ' || entry || ' set search_path = ${release}, public, pg_temp';
      end loop;
    end
  $$
`;

/**
 * The Data API takes one statement a call. In these files each ends with a semicolon and a blank line, and what follows
 * begins at the margin; the body of a function does not.
 */
const statements = (file: string): string[] => file.split(/;\s*\n\n+(?=\S)|;\s*$/).filter((each) => each.trim() !== "");
