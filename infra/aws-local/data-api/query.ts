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

/** A named prepared statement of a session. */
export interface Prepared {
  readonly name: string;
  /** Undefined until PostgreSQL has described them. */
  columns: Column[] | undefined;
  /** Names of prepared statements that are closed together with the next one. */
  readonly outdated: string[];
}

export interface Outcome {
  /** Undefined where the statement yields no rows at all, such as an update without returning. */
  columns: Column[] | undefined;
  rows: (string | null)[][];
  /** PostgreSQL's command tag, such as `INSERT 0 3`. */
  tag: string;
  exceeded: "result" | "row" | undefined;
}

/** The methods of node-postgres's connection that are used here; its types do not declare all of them. */
interface Wire {
  stream: Duplex;
  parse(message: { name?: string; text: string; types: number[] }): void;
  bind(message: { statement?: string; values: BoundStatement["values"] }): void;
  describe(message: { type: "P" }): void;
  execute(message: Record<string, never>): void;
  close(message: { type: "S"; name: string }): void;
  sync(): void;
  sendCopyFail(reason: string): void;
}

interface Statement extends Submittable {
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
 * Without `prepared` it is unnamed, so PostgreSQL plans it each time for the given values. When a result exceeds a
 * limit, the remaining rows are read and dropped. The statement is not cancelled, because on the service a transaction
 * stays usable after such an error.
 */
export function run(client: Client, statement: BoundStatement, limits: Limits, prepared?: Prepared): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    client.query(submittable(statement, limits, prepared, resolve, reject));
  });
}

function submittable(
  statement: BoundStatement,
  limits: Limits,
  prepared: Prepared | undefined,
  resolve: (outcome: Outcome) => void,
  reject: (error: Error) => void,
): Statement {
  const outcome: Outcome = { columns: prepared?.columns, rows: [], tag: "", exceeded: undefined };
  let bytes = 0;
  let copying: string | undefined;
  return {
    submit: (connection) => send(connection as unknown as Wire, statement, prepared),
    handleRowDescription: ({ fields }) => {
      outcome.columns = fields;
      if (prepared) prepared.columns = fields;
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
    handleEmptyQuery: () => {},
    handlePortalSuspended: () => {},
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
}

function send(wire: Wire, { text, types, values }: BoundStatement, prepared: Prepared | undefined): void {
  wire.stream.cork();
  try {
    for (const name of prepared?.outdated.splice(0) ?? []) wire.close({ type: "S", name });
    const isKnown = prepared?.columns !== undefined;
    if (!isKnown) wire.parse({ ...(prepared && { name: prepared.name }), text, types });
    wire.bind({ ...(prepared && { statement: prepared.name }), values });
    if (!isKnown) wire.describe({ type: "P" });
    wire.execute({});
    wire.sync();
  } finally {
    wire.stream.uncork();
  }
}

/** The live service's text for COPY. */
const unexpected = (message: string) => databaseError(`execute: unexpected message: ${message}`);
