import type { SecretsManager } from "../secrets-manager/secrets-manager.ts";
import { runInTime } from "./deadline.ts";
import { validation } from "./errors.ts";
import { isMultistatement } from "./lexer.ts";
import type { Limits } from "./limits.ts";
import { describeColumns, learnOrigins, type Origins } from "./metadata.ts";
import { type BoundStatement, bind } from "./parameters.ts";
import { type Outcome, run } from "./query.ts";
import { knownReads } from "./reads.ts";
import type { Operation, Request } from "./requests.ts";
import { checkSize, formatRecords, typesOf, writeRecords } from "./results.ts";
import type { Login, Session, Sessions } from "./sessions.ts";
import { openTransactions } from "./transactions.ts";
import { learnTypes, type Types } from "./types.ts";

/** A cache of a database's own types and tables, until a statement changes the schema. */
interface Catalogue {
  types: Types;
  origins: Origins;
}

export type Operations = Record<Operation, (request: Request) => Promise<string>>;

const schemaChange = /^(CREATE|ALTER|DROP|DO|CALL)\b/;

/** The five operations, each answering the JSON text of its response. */
export function createOperations(sessions: Sessions, secrets: SecretsManager, limits: Limits): Operations {
  const transactions = openTransactions(sessions, limits);
  const catalogues = new Map<string, Catalogue>();
  const reads = knownReads();

  /** The login of the request's secret, in the request's database. */
  const loginOf = ({ secretArn, database = "postgres" }: Request): Login => ({
    database,
    ...secrets.credentialsOf(secretArn),
  });

  /** A transaction may have changed the schema and may be rolled back, so it does not use the cache. */
  const catalogueFor = ({ transactionId }: Request, database: string) => {
    const known = transactionId === undefined ? catalogues.get(database) : undefined;
    const catalogue: Catalogue = known ?? { types: new Map(), origins: new Map() };
    if (transactionId === undefined) catalogues.set(database, catalogue);
    return catalogue;
  };

  const forgetSchema = (database: string) => {
    catalogues.delete(database);
    reads.forget();
  };

  /** Does the work in the request's transaction or, without one, on any session. */
  const onSession = async <T>(request: Request, work: (session: Session) => Promise<T>): Promise<T> => {
    if (request.transactionId !== undefined) return transactions.within(request.transactionId, work);
    const session = await sessions.acquire(loginOf(request));
    try {
      return await work(session);
    } finally {
      void sessions.release(session);
    }
  };

  const inTime = (session: Session, request: Request, running: Promise<Outcome>) =>
    runInTime(sessions, session, running, limits, request.continueAfterTimeout ?? false);

  const runOn = (session: Session, statement: BoundStatement, request: Request) =>
    inTime(session, request, run(session.client, statement, limits));

  /** Runs a statement outside of transactions. One that only reads is prepared, and its session needs no reset. */
  const executeAnywhere = async (request: Request, statement: BoundStatement) => {
    const login = loginOf(request);
    const isRead = reads.has(login.database, statement.text);
    const session = await sessions.acquire(login);
    try {
      const running = isRead
        ? session.statements.run(session.client, statement, limits)
        : run(session.client, statement, limits);
      return await answer(session, request, await inTime(session, request, running));
    } finally {
      if (isRead) void sessions.release(session, true);
      else void reads.learn(session, statement.text).finally(() => sessions.release(session));
    }
  };

  const answer = async (session: Session, request: Request, outcome: Outcome) => {
    checkSize(outcome);
    const { columns, rows, tag } = outcome;
    if (schemaChange.test(tag)) forgetSchema(session.login.database);
    if (!columns) return `{"generatedFields":[],"numberOfRecordsUpdated":${updatedBy(tag)}}`;
    const catalogue = catalogueFor(request, session.login.database);
    const options = request.resultSetOptions ?? {};
    await learnTypes(session.client, columns, catalogue.types);
    const types = typesOf(columns, rows, catalogue.types);
    if (request.formatRecordsAs === "JSON" && tag.startsWith("SELECT")) {
      const formatted = formatRecords(columns, rows, types, options, limits);
      return `{"formattedRecords":${JSON.stringify(formatted)},"numberOfRecordsUpdated":0}`;
    }
    const records = writeRecords(rows, types, options);
    if (!request.includeResultMetadata) return `{"numberOfRecordsUpdated":0,"records":${records}}`;
    await learnOrigins(session.client, columns, catalogue.origins);
    const metadata = JSON.stringify(describeColumns(columns, types, catalogue.origins));
    return `{"columnMetadata":${metadata},"numberOfRecordsUpdated":0,"records":${records}}`;
  };

  return {
    ExecuteStatement: async (request) => {
      const statement = bind(singleStatement(request), request.parameters ?? []);
      if (request.transactionId === undefined) return executeAnywhere(request, statement);
      return transactions.within(request.transactionId, async (session) =>
        answer(session, request, await runOn(session, statement, request)),
      );
    },

    BatchExecuteStatement: async (request) => {
      const sql = singleStatement(request);
      const statements = (request.parameterSets ?? [[]]).map((set) => bind(sql, set));
      return onSession(request, async (session) => {
        const runAll = async () => {
          for (const statement of statements) await runOn(session, statement, request);
        };
        await (request.transactionId === undefined ? atomically(session, runAll) : runAll());
        return JSON.stringify({ updateResults: statements.map(() => ({ generatedFields: [] })) });
      });
    },

    BeginTransaction: async (request) => JSON.stringify({ transactionId: await transactions.begin(loginOf(request)) }),

    CommitTransaction: async ({ transactionId = "" }) => {
      await transactions.commit(transactionId);
      catalogues.clear();
      reads.forget();
      return JSON.stringify({ transactionStatus: "Transaction Committed" });
    },

    RollbackTransaction: async ({ transactionId = "" }) => {
      await transactions.rollback(transactionId);
      return JSON.stringify({ transactionStatus: "Rollback Complete" });
    },
  };
}

function singleStatement({ sql = "" }: Request): string {
  if (isMultistatement(sql)) throw validation("Multistatements aren't supported.");
  return sql;
}

/** `INSERT 0 3` updated 3. For a statement with `returning` the service's answer is not documented, so it is 0. */
const updatedBy = (tag: string) => (/^(INSERT|UPDATE|DELETE|MERGE)\b/.test(tag) ? tag.split(" ").at(-1) : 0);

async function atomically(session: Session, work: () => Promise<void>): Promise<void> {
  await session.client.query("begin");
  try {
    await work();
    await session.client.query("commit");
  } catch (error) {
    await session.client.query("rollback");
    throw error;
  }
}
