import { DatabaseError, type FieldDef, type PoolClient } from "pg";
import { serialize } from "pg-protocol";
import { sqlState } from "./errors.ts";
import type { Limits } from "./limits.ts";
import type { BoundStatement } from "./parameters.ts";
import { type Framing, type Outcome, run } from "./query.ts";

/** The database and the user of a session. */
export interface Login {
  readonly database: string;
  readonly username: string;
  readonly password: string;
}

/** A connection to one database, used by one call or one transaction at a time. */
export type Session = ReturnType<typeof newSession>;

interface Prepared {
  readonly name: string;
  readonly columns: FieldDef[] | undefined;
}

/** The sessions of the service run in UTC; the other options give values the format that types.ts reads. */
export const sessionOptions = {
  application_name: "data-api",
  options: "-c TimeZone=UTC -c DateStyle=ISO -c bytea_output=hex -c extra_float_digits=1",
};

export const newSession = (client: PoolClient, login: Login) => ({
  client,
  login,
  processId: (client as unknown as { processID: number }).processID,
  /** Prepared statements by the statement's key; the one used longest ago is the first. */
  prepared: new Map<string, Prepared>(),
  /** Names of prepared statements to close. */
  outdated: [] as string[],
  /** The statement that runs; after a timeout it may still run. */
  running: undefined as Promise<unknown> | undefined,
  /** Whether it has been reset after its last statement. Then the statements that reset it are prepared. */
  isReset: false,
  ended: false,
});

/**
 * What `discard all` does, except that plans are kept. On the service each call may use another session, so a call must
 * leave nothing behind.
 */
const discardAllButPlans = [
  "close all",
  "set session authorization default",
  "reset all",
  "unlisten *",
  "select pg_catalog.pg_advisory_unlock_all()",
  "discard temp",
  "discard sequences",
];

/** The messages that run them prepared, and before that prepare them anew if a session has not yet done so. */
const discardMessages = (isPrepared: boolean) =>
  Buffer.concat(
    discardAllButPlans.flatMap((text, index) => {
      const name = `data_api_discard_${index}`;
      const prepare = [serialize.close({ type: "S", name }), serialize.parse({ name, text })];
      return [...(isPrepared ? [] : prepare), serialize.bind({ statement: name }), serialize.execute()];
    }),
  );
const [discardFirst, discardAgain] = [discardMessages(false), discardMessages(true)];

/** The command tags of statements that may prepare others, or drop the prepared ones. */
const preparing = /^(PREPARE|DEALLOCATE|DISCARD|DO|CALL)\b/;

const unknownStatement = "26000";
const preparedMax = 100;
let names = 0;

/** Runs a statement that is a call of its own. PostgreSQL keeps its plan while the session lasts. */
export async function runAlone(session: Session, statement: BoundStatement, limits: Limits): Promise<Outcome> {
  const { key } = statement;
  // Not all of its parameters have values: PostgreSQL refuses it with a message that would contain our name.
  if (key === undefined) return await runAndReset(session, statement, limits, {});
  const { prepared, outdated } = session;
  const known = prepared.get(key);
  const name = known?.name ?? `data_api_${++names}`;
  prepared.delete(key);
  const prepareAndRun = () => runAndReset(session, statement, limits, { name });
  const outcome = known
    ? await runAndReset(session, statement, limits, { ...known, isPrepared: true }).catch((error) => {
        if (!hasNotBegun(error)) throw error;
        outdated.push(name);
        return prepareAndRun();
      })
    : await prepareAndRun();
  prepared.set(key, { name, columns: outcome.columns });
  const [oldest] = prepared;
  if (oldest && prepared.size > preparedMax) {
    prepared.delete(oldest[0]);
    outdated.push(oldest[1].name);
  }
  return outcome;
}

/** The reset travels with the statement, in one transaction: that costs PostgreSQL and Node the least. */
async function runAndReset(
  session: Session,
  statement: BoundStatement,
  limits: Limits,
  framing: Framing,
): Promise<Outcome> {
  const { client, isReset } = session;
  const closed = session.outdated.splice(0);
  session.isReset = false;
  const attempt = (behind: Buffer) => run(client, statement, limits, { ...framing, closed, behind });
  const outcome = await attempt(isReset ? discardAgain : discardFirst).catch((error) => {
    // The statement has dropped what was prepared, and was rolled back.
    if (isReset && sqlState(error) === unknownStatement) return attempt(discardFirst);
    throw error;
  });
  session.isReset = !preparing.test(outcome.tag);
  return outcome;
}

/** The schema has changed so that the plan's columns are others, or the prepared statement was dropped. */
const hasNotBegun = (error: unknown) =>
  error instanceof DatabaseError &&
  (error.code === unknownStatement || (error.code === "0A000" && error.routine === "RevalidateCachedQuery"));

/** Waits until a session is as new for the next call. False if it cannot be used any more. */
export async function isAsNew(session: Session): Promise<boolean> {
  await session.running;
  const { client, prepared, outdated } = session;
  let isReset = session.isReset;
  if (!isReset && !session.ended) {
    prepared.clear();
    outdated.length = 0;
    // It fails in an open transaction, or when it takes longer than a timeout that the session has set.
    isReset = await client.query("discard all").then(
      () => true,
      () => false,
    );
  }
  return isReset && !session.ended && client.getTransactionStatus() === "I";
}
