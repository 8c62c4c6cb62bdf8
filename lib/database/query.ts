import sql, { type Sql } from "sql-template-tag";
import { execute, type Row } from "./client.ts";
import { type Guard, guarded } from "./guard.ts";
import { integer, textOrNull } from "./read.ts";

/**
 * The work of one endpoint that gives one answer: a select of `status` and `body` (JSON, or null where the status says
 * all). No row at all means that what was asked for is not there. A refusal's body is the parameter to blame, if any.
 */
export interface PublicQuery<Body> {
  readonly select: Sql;
  readonly with?: never;
  /** Only for the compiler: what the body is. */
  readonly body?: Body;
}

/** The same behind a permission. Its parts read and write through the common table expression `caller`. */
export interface GuardedQuery<Body> {
  readonly select: Sql;
  readonly body?: Body;
  /** Common table expressions, each with a comma after it; every write's own `where` asks for `caller`. */
  readonly with: Sql;
}

export interface Outcome {
  readonly status: number;
  readonly body: string | null;
}

/** Rows have at most 64 KB and UTF-8 takes up to 4 bytes a character, so long bodies travel in pieces. */
export const pieceLength = 15_000;

/** Runs a query as one statement. */
export async function run(
  query: PublicQuery<unknown> | GuardedQuery<unknown>,
  guard: Guard | undefined,
  repeatable: boolean,
): Promise<Outcome | undefined> {
  const answer =
    guard && query.with
      ? sql`
          with
            ${guarded(guard)},
            ${query.with}
            answer (status, body) as (
              select status, null
              from refusal
              union all
              select work.status, cast(work.body as text)
              from caller cross join lateral (${query.select}) as work (status, body)
            )
        `
      : sql`
          with
            answer (status, body) as (
              select work.status, cast(work.body as text)
              from (${query.select}) as work (status, body)
            )
        `;
  const rows = await execute(
    sql`
      ${answer}
      select status, substr(body, 1 + piece * ${pieceLength}::int, ${pieceLength}::int)
      from answer, generate_series(0, (coalesce(length(body), 1) - 1) / ${pieceLength}::int) as piece
      order by piece
    `,
    repeatable,
  );
  return outcome(rows);
}

function outcome(rows: readonly Row[]): Outcome | undefined {
  const [first] = rows;
  if (first === undefined) return undefined;
  const pieces = rows.map((row) => textOrNull(row, 1));
  return { status: integer(first, 0), body: pieces.includes(null) ? null : pieces.join("") };
}
