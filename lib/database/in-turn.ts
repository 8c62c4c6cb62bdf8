import sql from "sql-template-tag";
import { type Send, transaction } from "./transaction.ts";

/** Any number that no other lock of the database uses. */
const migrationLock = 4_702_135;

/** Does a step of a migration in a transaction, of which there is one at a time: others queue up. */
export const inTurn = <Result>(work: (send: Send) => Promise<Result>): Promise<Result> =>
  transaction(async (send) => {
    await send(sql`select pg_advisory_xact_lock(${migrationLock}::bigint)::text`);
    return await work(send);
  });
