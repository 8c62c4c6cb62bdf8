import { sqlState, statementTimeout, unsupportedResult } from "./errors.ts";
import type { Limits } from "./limits.ts";
import { bind } from "./parameters.ts";
import { type Outcome, run } from "./query.ts";
import type { Operation, Request } from "./requests.ts";
import { type Login, runAlone, type Session } from "./session.ts";
import type { Sessions } from "./sessions.ts";
import type { Transactions } from "./transactions.ts";
import { writersOf } from "./types.ts";

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
  const statement = bind(request.sql ?? "", request.parameters ?? []);
  const respond = async (session: Session, running: Promise<Outcome>) =>
    await responseTo(session, await inTime(service, session, request, running));
  if (request.transactionId !== undefined)
    return await transactions.within(request.transactionId, (session) =>
      respond(session, run(session.client, statement, limits)),
    );
  const session = await sessions.acquire(service.loginOf(request));
  try {
    return await respond(session, runAlone(session, statement, limits));
  } finally {
    void sessions.release(session);
  }
}

const queryCanceled = "57014";

/**
 * Runs a statement with the service's timeout. After it the statement is cancelled or, with `continueAfterTimeout`,
 * goes on; in both cases the caller gets a StatementTimeoutException (AWS, API_ExecuteStatement).
 */
async function inTime(
  { sessions, limits }: Service,
  session: Session,
  { continueAfterTimeout = false }: Request,
  running: Promise<Outcome>,
): Promise<Outcome> {
  const settled = () => {
    session.running = undefined;
  };
  session.running = running.then(settled, settled);
  let isLate = false;
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      isLate = true;
      if (continueAfterTimeout) reject(statementTimeout(session.processId));
      else sessions.cancel(session).catch(reject);
    }, limits.statementTimeoutInMilliseconds);
  });
  try {
    return await Promise.race([running, deadline]);
  } catch (error) {
    throw isLate && sqlState(error) === queryCanceled ? statementTimeout(session.processId) : error;
  } finally {
    clearTimeout(timer);
  }
}

/** The response as JSON text. It is built as a string, because that is faster. */
async function responseTo({ client }: Session, outcome: Outcome): Promise<string> {
  const { columns, rows, tag, exceeded } = outcome;
  if (exceeded) throw unsupportedResult(tooLarge[exceeded]);
  if (!columns) return `{"generatedFields":[],"numberOfRecordsUpdated":${updatedBy(tag)}}`;
  // The service checks types when it converts a row, so an empty result may have any type.
  const writers = rows.length === 0 ? [] : await writersOf(client, columns);
  const field = (text: string | null, index: number) => (text === null ? '{"isNull":true}' : writers[index]?.(text));
  const records = rows.map((row) => `[${row.map(field).join()}]`).join();
  return `{"numberOfRecordsUpdated":0,"records":[${records}]}`;
}

/** `INSERT 0 3` updated 3. What the service returns for a statement with `returning` is not documented, so it is 0. */
const updatedBy = (tag: string) => (/^(INSERT|UPDATE|DELETE|MERGE)\b/.test(tag) ? tag.split(" ").at(-1) : 0);

const tooLarge = {
  result: "The result exceeds the size limit 1 MB.",
  // AWS, RDS Data API troubleshooting page; the exception that carries it is not documented.
  row: "Packet for query is too large",
};
