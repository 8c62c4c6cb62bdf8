import type { Duplex } from "node:stream";
import type { Client, Submittable } from "pg";
import { databaseError } from "./errors.ts";
import type { Limits } from "./limits.ts";
import type { BoundStatement } from "./parameters.ts";

/** A column as PostgreSQL's RowDescription tells it. */
export interface Column {
  name: string;
  tableID: number;
  columnID: number;
  dataTypeID: number;
  dataTypeModifier: number;
}

/** A statement that a session keeps parsed, and planned as far as PostgreSQL finds that worth while. */
export interface Prepared {
  readonly name: string;
  /** Undefined until PostgreSQL has described them. */
  columns: Column[] | undefined;
  /** Names of the session that are to be closed on the way. */
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

/** The part of node-postgres's connection that a statement of our own needs; its types declare less than it has. */
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
 * Unless it has been prepared, it is unnamed, so that PostgreSQL plans it each time with the values at hand. Rows beyond
 * a limit are read and dropped rather than cancelled, because a transaction stays usable after the service refused a
 * result.
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
      // PostgreSQL ignores a Sync while it waits for copied data, so the one sent first is gone.
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
