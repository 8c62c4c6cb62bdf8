import { createHash } from "node:crypto";
import sql from "sql-template-tag";
import { text } from "../data-api/client.ts";
import { type Send, transaction } from "../data-api/transaction.ts";
import type { Migration } from "./tables/all.ts";

/** A number that no other advisory lock of the database uses. */
const migrationLock = 4_702_135;

const changedFile =
  "the file was changed after it had been applied. With `npm start` the data are of another commit: name another folder by \
--data DIR, or delete `.local`";

/** Runs a step of a migration in a transaction. There is one at a time; the others wait for the lock. */
export const withMigrationLock = <Result>(work: (send: Send) => Promise<Result>): Promise<Result> =>
  transaction(async (send) => {
    await send(sql`select pg_advisory_xact_lock(${migrationLock}::bigint)::text`);
    return await work(send);
  });

/**
 * Applies a migration and records that, unless it is recorded already.
 * @param apply returns whether the migration is applied now
 * @returns the same, and false if it was recorded already; undefined if it is not applied
 * @throws when the migration has been changed since it was applied
 */
export const applyOnce = (migration: Migration, apply: (send: Send) => Promise<boolean>) =>
  withMigrationLock(async (send) => {
    const { name } = migration;
    const checksum = createHash("sha256").update(migration.text).digest("hex");
    const [row] = await send(sql`select checksum from migrations where name = ${name}::text`);
    if (row && text(row, 0) !== checksum) throw new Error(changedFile);
    if (row) return false;
    if (!(await apply(send))) return undefined;
    await send(sql`insert into migrations (name, checksum) values (${name}::text, ${checksum}::text)`);
    return true;
  });
