import { batchExecuteStatement } from "./drivers/batch.ts";
import { executeStatement } from "./execute.ts";
import type { Limits } from "./limits.ts";
import type { Operation, Request } from "./requests.ts";
import type { Login } from "./session.ts";
import type { Sessions } from "./sessions.ts";
import type { Transactions } from "./transactions.ts";

/** What the operations work with. */
export interface Service {
  readonly sessions: Sessions;
  readonly transactions: Transactions;
  readonly limits: Limits;
  /** The login of the request's secret, in the request's database. */
  loginOf(request: Request): Login;
}

/** Each answers the JSON text of its response. */
export const operations: Readonly<Record<Operation, (service: Service, request: Request) => Promise<string>>> = {
  ExecuteStatement: executeStatement,
  BatchExecuteStatement: batchExecuteStatement,

  async BeginTransaction({ transactions, loginOf }, request) {
    return JSON.stringify({ transactionId: await transactions.begin(loginOf(request)) });
  },

  async CommitTransaction({ transactions }, { transactionId = "" }) {
    await transactions.end(transactionId, "commit");
    return JSON.stringify({ transactionStatus: "Transaction Committed" });
  },

  async RollbackTransaction({ transactions }, { transactionId = "" }) {
    await transactions.end(transactionId, "rollback");
    return JSON.stringify({ transactionStatus: "Rollback Complete" });
  },
};
