import sql, { empty, type Sql } from "sql-template-tag";
import { type Guard, guarded } from "./guard.ts";
import { readText } from "./pieces.ts";
import { integer, integerOrNull } from "./read.ts";

/** The work of one endpoint that shows one record: a select of its JSON as `text`, and no row when it is not there. */
export interface PublicQuery<Body> {
  readonly select: Sql;
  readonly guarded?: never;
  /** Only for the compiler: what the body is. */
  readonly body?: Body;
}

/** The same behind a permission, for the `caller`: a select of `version` and `text`. */
export interface GuardedQuery<Body> {
  readonly select: Sql;
  readonly guarded: true;
  readonly body?: Body;
}

/** What comes of a statement, to be answered. */
export interface Outcome {
  readonly status: number;
  /** JSON, or null where the status says all. With 400 it is the name of the parameter to blame. */
  readonly body: string | null;
  /** Who calls, as far as that is known. */
  readonly caller?: number | null;
  /** How often the record has been changed. */
  readonly version?: number | null;
}

/** Runs a query as one statement; only a body that exceeds a row of the Data API is read by several. */
export async function run(
  query: PublicQuery<unknown> | GuardedQuery<unknown>,
  guard: Guard | undefined,
  deadline: number,
): Promise<Outcome> {
  if (!guard || !query.guarded) {
    const found = await readText(query.select, empty, deadline);
    return { status: found ? 200 : 404, body: found?.text ?? null };
  }
  const found = await readText(guarded(guard, query.select), sql`, status, caller_id, version`, deadline);
  if (found === undefined) throw new TypeError("A guard has a row, whoever calls");
  const { row, text } = found;
  const status = integer(row, 0);
  return {
    status: status === 200 && text === null ? 404 : status,
    body: text,
    caller: integerOrNull(row, 1),
    version: integerOrNull(row, 2),
  };
}
