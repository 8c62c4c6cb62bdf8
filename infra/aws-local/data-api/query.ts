import type { ClientBase, Connection, FieldDef } from "pg";
import { serialize } from "pg-protocol";
import { databaseError } from "./errors.ts";
import type { Limits } from "./limits.ts";
import type { BoundStatement } from "./parameters.ts";

export interface Outcome {
  /** Undefined where the statement yields no rows at all, such as an update without returning. */
  columns: FieldDef[] | undefined;
  rows: (string | null)[][];
  /** PostgreSQL's command tag, such as `INSERT 0 3`. */
  tag: string;
  exceeded: "result" | "row" | undefined;
}

/** What is sent beside a statement. */
export interface Framing {
  /** A prepared statement's name; without one PostgreSQL parses and plans the statement for this time only. */
  readonly name?: string;
  /** The session has prepared the statement already. */
  readonly isPrepared?: boolean;
  /** The columns, if they are known; otherwise PostgreSQL describes them. */
  readonly columns?: FieldDef[] | undefined;
  /** Names of prepared statements to close. */
  readonly closed?: readonly string[];
  /** Messages that run further statements in the same transaction, whose results are ignored. */
  readonly behind?: Buffer;
}

/**
 * Runs a statement through the extended protocol with the types we choose.
 *
 * When a result exceeds a limit, the remaining rows are read and dropped. The statement is not cancelled, because on
 * the service a transaction stays usable after such an error.
 */
export function run(
  client: ClientBase,
  statement: BoundStatement,
  limits: Pick<Limits, "resultBytes" | "rowBytes">,
  framing: Framing = {},
): Promise<Outcome> {
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
  const outcome: Outcome = { columns: framing.columns, rows: [], tag: "", exceeded: undefined };
  let bytes = 0;
  let isComplete = false;
  let copying: string | undefined;
  // What node-postgres calls while PostgreSQL responds; its types declare only `submit`.
  const exchange = {
    submit: ({ stream }: Connection) => void stream.write(messagesOf(statement, framing)),
    handleRowDescription: ({ fields }: { fields: FieldDef[] }) => {
      outcome.columns = fields;
    },
    handleDataRow: ({ length, fields }: { length: number; fields: (string | null)[] }) => {
      if (isComplete) return;
      // `length` counts itself (4 bytes), the number of columns (2), and a length (4) before each value.
      const rowBytes = length - 4;
      bytes += rowBytes;
      if (bytes > limits.resultBytes) outcome.exceeded = "result";
      else if (rowBytes > limits.rowBytes) outcome.exceeded ??= "row";
      if (outcome.exceeded) outcome.rows = [];
      else outcome.rows.push(fields);
    },
    handleCommandComplete: ({ text }: { text: string }) => {
      if (!isComplete) outcome.tag = text;
      isComplete = true;
    },
    handleEmptyQuery: () => {
      isComplete = true;
    },
    handlePortalSuspended: () => {},
    handleReadyForQuery: () => (copying ? reject(unexpected(copying)) : resolve(outcome)),
    handleError: (error: Error) => reject(copying ? unexpected(copying) : error),
    handleCopyInResponse: ({ stream }: Connection) => {
      copying = "CopyInResponse";
      // PostgreSQL ignored the first Sync, because it waited for copied data.
      stream.write(Buffer.concat([serialize.copyFail("The Data API takes no copied data"), serialize.sync()]));
    },
    handleCopyData: () => {
      copying = "CopyOutResponse";
    },
  };
  client.query(exchange);
  return promise;
}

/** All in one buffer, because each write costs as much as the work for a small statement. */
function messagesOf({ text, types, values }: BoundStatement, framing: Framing): Buffer {
  const { name = "", isPrepared = false, columns, closed = [], behind } = framing;
  const messages = closed.map((each) => serialize.close({ type: "S", name: each }));
  if (!isPrepared) messages.push(serialize.parse({ name, text, types }));
  messages.push(serialize.bind({ statement: name, values }));
  if (!columns) messages.push(serialize.describe({ type: "P" }));
  messages.push(serialize.execute());
  if (behind) messages.push(behind);
  messages.push(serialize.sync());
  return Buffer.concat(messages);
}

/** The live service's text for COPY. */
const unexpected = (message: string) => databaseError(`execute: unexpected message: ${message}`);
