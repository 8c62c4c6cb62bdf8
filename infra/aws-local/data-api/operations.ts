import { inTime } from "./deadline.ts";
import type { Limits } from "./limits.ts";
import { bind } from "./parameters.ts";
import { type Outcome, run } from "./query.ts";
import type { Operation, Request } from "./requests.ts";
import { checkSize, writeRecords } from "./results.ts";
import { type Login, runAlone, type Session } from "./session.ts";
import type { Sessions } from "./sessions.ts";
import type { Transactions } from "./transactions.ts";
import { typesOf } from "./types.ts";

/** What the operations work with. */
export interface Service {
  readonly sessions: Sessions;
  readonly transactions: Transactions;
  readonly limits: Limits;
  /** The login of the request's secret, in the request's database. */
  loginOf(request: Request): Login;
}

/** Each returns the JSON text of its response. */
export const operations: Readonly<Record<Operation, (service: Service, request: Request) => Promise<string>>> = {
  ExecuteStatement: executeStatement,

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

/** One statement, in its transaction or as a call of its own. */
async function executeStatement(service: Service, request: Request): Promise<string> {
  const { sessions, transactions, limits } = service;
  const { transactionId, continueAfterTimeout } = request;
  const statement = bind(request.sql ?? "", request.parameters ?? []);
  const respond = async (session: Session, running: Promise<Outcome>) => {
    const milliseconds = limits.statementTimeoutInMilliseconds;
    return await responseTo(session, await inTime(running, session, { sessions, milliseconds, continueAfterTimeout }));
  };
  if (transactionId !== undefined)
    return await transactions.within(transactionId, (session) =>
      respond(session, run(session.client, statement, limits)),
    );
  const session = await sessions.acquire(service.loginOf(request));
  try {
    return await respond(session, runAlone(session, statement, limits));
  } finally {
    void sessions.release(session);
  }
}

/** The response as JSON text. */
async function responseTo({ client }: Session, outcome: Outcome): Promise<string> {
  checkSize(outcome);
  const { columns, rows, tag } = outcome;
  if (!columns) return `{"generatedFields":[],"numberOfRecordsUpdated":${updatedBy(tag)}}`;
  // The service checks types when it converts a row, so an empty result may have any type.
  const records = rows.length === 0 ? "[]" : writeRecords(rows, await typesOf(client, columns));
  return `{"numberOfRecordsUpdated":0,"records":${records}}`;
}

/** `INSERT 0 3` updated 3. What the service returns for a statement with `returning` is not documented, so it is 0. */
const updatedBy = (tag: string) => (/^(INSERT|UPDATE|DELETE|MERGE)\b/.test(tag) ? tag.split(" ").at(-1) : 0);
