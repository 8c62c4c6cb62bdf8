import sql, { empty, type Sql } from "sql-template-tag";
import { readText } from "./chunks.ts";
import { type Guard, guarded } from "./guard.ts";
import { integer, integerOrNull, textOrNull } from "./read.ts";

/** The query of an endpoint that shows a record: it gives the record's JSON as `text`, and no row if there is none. */
export interface PublicQuery<Body> {
  readonly select: Sql;
  readonly guarded?: never;
  /** Only for the compiler: the type of the body. */
  readonly body?: Body;
}

/** The same for an endpoint with a permission: it may use `caller`, and gives `version` and `text`. */
export interface GuardedQuery<Body> {
  readonly select: Sql;
  readonly guarded: true;
  /** It also gives `warning`. */
  readonly warns?: true;
  readonly body?: Body;
}

/** The result of a statement, from which the answer is made. */
export interface Outcome {
  readonly status: number;
  /** JSON, or null if the status is enough. With 400 it is the name of the invalid parameter. */
  readonly body: string | null;
  /** The caller's id, if it is known. */
  readonly caller?: number | null;
  /** How often the record has been changed. */
  readonly version?: number | null;
  /** What the log should say. */
  readonly warning?: string | null;
}

/** Runs a query as one statement. Only a body that exceeds a row of the Data API takes several. */
export async function run(
  query: PublicQuery<unknown> | GuardedQuery<unknown>,
  guard: Guard | undefined,
  deadline: number,
): Promise<Outcome> {
  if (!guard || !query.guarded) {
    const found = await readText(query.select, empty, deadline);
    return { status: found ? 200 : 404, body: found?.text ?? null };
  }
  const columns = sql`, status, caller_id, version${query.warns ? sql`, warning` : empty}`;
  const found = await readText(guarded(guard, query.select), columns, deadline);
  if (found === undefined) throw new TypeError("A guarded query has no row");
  const { row, text } = found;
  const status = integer(row, 0);
  return {
    status: status === 200 && text === null ? 404 : status,
    body: text,
    caller: integerOrNull(row, 1),
    version: integerOrNull(row, 2),
    warning: query.warns ? textOrNull(row, 3) : null,
  };
}
