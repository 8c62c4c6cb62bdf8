import { createHash } from "node:crypto";
import sql, { raw } from "sql-template-tag";
import type { Migration } from "./migrations/all.ts";
import { text } from "./read.ts";
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

/** The Data API takes one statement a call. In a migration each ends with a semicolon and a blank line. */
const statements = (file: string): string[] =>
  file.split(/;[ \t]*\n(?:[ \t]*\n|$)/).filter((each) => each.trim() !== "");
