import sql, { type Sql } from "sql-template-tag";
import { type Guard, guarded } from "./guard.ts";
import { pieceOf, piecesOf, readPieces, versionOf } from "./pieces.ts";
import { integer, integerOrNull } from "./read.ts";

/** The work of one endpoint that shows one record: a select of its JSON, and no row when it is not there. */
export interface PublicQuery<Body> {
  readonly select: Sql;
  readonly guarded?: never;
  /** Only for the compiler: what the body is. */
  readonly body?: Body;
}

/** The same behind a permission, for the `caller`: a select of the record's JSON and its version. */
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

/**
 * Runs a query as one statement; only a body that exceeds a result of the Data API is read by several. The answer is
 * materialised, or PostgreSQL would make its body anew for every piece.
 */
export async function run(
  query: PublicQuery<unknown> | GuardedQuery<unknown>,
  guard: Guard | undefined,
  deadline: number,
): Promise<Outcome> {
  const answer =
    guard && query.guarded
      ? sql`
          with
            ${guarded(guard)},
            answer (status, caller, version, body) as materialized (
              select status, user_id, null, null
              from refusal
              union all
              select 200, caller.id, work.version, cast(work.body as text)
              from caller left join lateral (${query.select}) as work (body, version) on true
            )
        `
      : sql`
          with
            answer (status, caller, version, body) as materialized (
              select 200, cast(null as bigint), cast(null as bigint), cast(work.body as text)
              from (${query.select}) as work (body)
            )
        `;
  const found = await readPieces(
    (first) => sql`
      ${answer}
      select status, caller, version, ${pieceOf(sql`body`)}, ${versionOf(sql`body`)}
      from answer, ${piecesOf(sql`body`, first)}
      order by piece
    `,
    3,
    deadline,
  );
  if (found === undefined) return { status: 404, body: null };
  const status = integer(found.row, 0);
  const caller = integerOrNull(found.row, 1);
  if (status === 200 && found.text === null) return { status: 404, caller, body: null };
  return { status, caller, version: integerOrNull(found.row, 2), body: found.text };
}
