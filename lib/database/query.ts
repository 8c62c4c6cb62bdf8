import sql, { type Sql } from "sql-template-tag";
import { type Guard, guarded } from "./guard.ts";
import { pieceOf, piecesOf, readPieces, versionOf } from "./pieces.ts";
import { integer } from "./read.ts";

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

/**
 * Runs a query as one statement; only a body that exceeds a result of the Data API is read by several. The answer is
 * materialised, or PostgreSQL would make its body anew for every piece.
 */
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
            answer (status, body) as materialized (
              select status, null
              from refusal
              union all
              select work.status, cast(work.body as text)
              from caller cross join lateral (${query.select}) as work (status, body)
            )
        `
      : sql`
          with
            answer (status, body) as materialized (
              select work.status, cast(work.body as text)
              from (${query.select}) as work (status, body)
            )
        `;
  const found = await readPieces(
    (first) => sql`
      ${answer}
      select status, ${pieceOf(sql`body`)}, ${versionOf(sql`body`)}
      from answer, ${piecesOf(sql`body`, first)}
      order by piece
    `,
    1,
    repeatable,
  );
  return found && { status: integer(found.row, 0), body: found.text };
}
