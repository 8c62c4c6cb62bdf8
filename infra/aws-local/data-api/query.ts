import type { Duplex } from "node:stream";
import type { Client, Submittable } from "pg";
import { databaseError } from "./errors.ts";
import type { Limits } from "./limits.ts";
import type { BoundStatement } from "./parameters.ts";

/** A column of PostgreSQL's RowDescription. */
export interface Column {
  name: string;
  tableID: number;
  columnID: number;
  dataTypeID: number;
  dataTypeModifier: number;
}

export interface Outcome {
  /** Undefined where the statement yields no rows at all, such as an update without returning. */
  columns: Column[] | undefined;
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
  readonly columns?: Column[] | undefined;
  /** Names of prepared statements to close. */
  readonly closed?: readonly string[];
  /** SQL that runs behind the statement, whatever becomes of that. `receiveRest` must follow. */
  readonly behind?: string;
}

/** The methods of node-postgres's connection that are used here; its types do not declare all of them. */
interface Wire {
  stream: Duplex;
  parse(message: { name?: string | undefined; text: string; types: number[] }): void;
  bind(message: { statement?: string | undefined; values: BoundStatement["values"] }): void;
  describe(message: { type: "P" }): void;
  execute(message: Record<string, never>): void;
  close(message: { type: "S"; name: string }): void;
  query(text: string): void;
  sync(): void;
  sendCopyFail(reason: string): void;
}

interface Exchange extends Submittable {
  handleRowDescription(message: { fields: Column[] }): void;
  handleDataRow(message: { length: number; fields: (string | null)[] }): void;
  handleCommandComplete(message: { text: string }): void;
  handleReadyForQuery(): void;
  handleError(error: Error): void;
  handleEmptyQuery(): void;
  handlePortalSuspended(): void;
  handleCopyInResponse(wire: Wire): void;
  handleCopyData(): void;
}

/**
 * Runs a statement through the extended protocol with the types we choose.
 *
 * When a result exceeds a limit, the remaining rows are read and dropped. The statement is not cancelled, because on
 * the service a transaction stays usable after such an error.
 */
export function run(
  client: Client,
  statement: BoundStatement,
  limits: Pick<Limits, "resultBytes" | "rowBytes">,
  framing: Framing = {},
): Promise<Outcome> {
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
  const outcome: Outcome = { columns: framing.columns, rows: [], tag: "", exceeded: undefined };
  let bytes = 0;
  let copying: string | undefined;
  const exchange: Exchange = {
    submit: (connection) => send(connection as unknown as Wire, statement, framing),
    handleRowDescription: ({ fields }) => {
      outcome.columns = fields;
    },
    handleDataRow: ({ length, fields }) => {
      // `length` counts itself (4 bytes), the number of columns (2), and a length (4) before each value.
      const rowBytes = length - 4;
      bytes += rowBytes;
      if (bytes > limits.resultBytes) outcome.exceeded = "result";
      else if (rowBytes > limits.rowBytes) outcome.exceeded ??= "row";
      if (outcome.exceeded) outcome.rows = [];
      else outcome.rows.push(fields);
    },
    handleCommandComplete: ({ text }) => {
      outcome.tag = text;
    },
    handleReadyForQuery: () => (copying ? reject(unexpected(copying)) : resolve(outcome)),
    handleError: (error) => reject(copying ? unexpected(copying) : error),
    handleEmptyQuery: ignore,
    handlePortalSuspended: ignore,
    handleCopyInResponse: (wire) => {
      copying = "CopyInResponse";
      wire.sendCopyFail("The Data API takes no copied data");
      // PostgreSQL ignored the first Sync, because it waited for copied data.
      wire.sync();
    },
    handleCopyData: () => {
      copying = "CopyOutResponse";
    },
  };
  client.query(exchange);
  return promise;
}

/** Receives the answer to the SQL behind a statement. Fulfilled with whether it succeeded. */
export function receiveRest(client: Client): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const exchange: Exchange = {
    submit: ignore,
    handleRowDescription: ignore,
    handleDataRow: ignore,
    handleCommandComplete: ignore,
    handleReadyForQuery: () => resolve(true),
    handleError: () => resolve(false),
    handleEmptyQuery: ignore,
    handlePortalSuspended: ignore,
    handleCopyInResponse: ignore,
    handleCopyData: ignore,
  };
  client.query(exchange);
  return promise;
}

const ignore = () => {};

function send(wire: Wire, { text, types, values }: BoundStatement, framing: Framing): void {
  const { name, isPrepared = false, columns, closed = [], behind } = framing;
  wire.stream.cork();
  try {
    for (const each of closed) wire.close({ type: "S", name: each });
    if (!isPrepared) wire.parse({ name, text, types });
    wire.bind({ statement: name, values });
    if (!columns) wire.describe({ type: "P" });
    wire.execute({});
    wire.sync();
    if (behind !== undefined) wire.query(behind);
  } finally {
    wire.stream.uncork();
  }
}

/** The live service's text for COPY. */
const unexpected = (message: string) => databaseError(`execute: unexpected message: ${message}`);
