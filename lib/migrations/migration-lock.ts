import sql from "sql-template-tag";
import { type Send, transaction } from "../data-api/transaction.ts";

/** A number that no other advisory lock of the database uses. */
const migrationLock = 4_702_135;

/** Runs a step of a migration in a transaction. There is one at a time; the others wait for the lock. */
export const withMigrationLock = <Result>(work: (send: Send) => Promise<Result>): Promise<Result> =>
  transaction(async (send) => {
    await send(sql`select pg_advisory_xact_lock(${migrationLock}::bigint)::text`);
    return await work(send);
  });
