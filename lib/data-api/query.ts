import sql, { empty, type Sql } from "sql-template-tag";
import { readText } from "./chunks.ts";
import { type Guard, guarded } from "./guard.ts";
import { integer, integerOrNull, textOrNull } from "./read.ts";

/**
 * The query of an endpoint that shows a record: a select of its JSON as `body`; no row if there is none. For caches it
 * also gives the `tags` of what it shows, and, where former slugs find records, the `current_slug` of one that was found
 * by a former one. Behind a guard it may use `caller`, and also gives the record's `version`, and a `warning` if it takes
 * an edit lock.
 */
export type RecordQuery<Body> = Sql & {
  /** Only for the compiler: the type of the body. */
  readonly body?: Body;
};

/** The result of a statement, from which the response is made. */
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
  /** The cache tags of what the record shows, with commas between them. */
  readonly tags?: string | null;
  /** The slug that the record has, if it was found by a former one. */
  readonly slug?: string | null;
}

interface Reading {
  readonly guard: Guard | undefined;
  readonly takesLock: boolean;
  /** Whether the query gives `tags`: that of a public record that caches may keep. */
  readonly isTagged: boolean;
  /** Whether the query gives `current_slug`: that of a public record. */
  readonly followsSlugs: boolean;
  readonly deadline: number;
}

/** Reads a record by one statement. Only a body that exceeds a row of the Data API takes several. */
export async function readRecord(
  query: RecordQuery<unknown>,
  { guard, takesLock, isTagged, followsSlugs, deadline }: Reading,
): Promise<Outcome> {
  const publicHeaders = sql`${isTagged ? sql`, tags` : empty}${followsSlugs ? sql`, current_slug` : empty}`;
  const headers = guard ? sql`, version${takesLock ? sql`, warning` : empty}` : publicHeaders;
  // `offset 0` makes PostgreSQL make the text once, and not wherever it is used.
  const select = sql`select cast(body as text) as text${headers} from (${query}) as record offset 0`;
  if (!guard) {
    const found = await readText(select, headers, deadline);
    if (found === undefined) return { status: 404, body: null };
    const { text: body, row } = found;
    return {
      status: 200,
      body,
      tags: isTagged ? textOrNull(row, 0) : null,
      slug: followsSlugs ? textOrNull(row, isTagged ? 1 : 0) : null,
    };
  }
  const found = await readText(guarded(guard, select), sql`, status, caller_id${headers}`, deadline);
  if (found === undefined) throw new TypeError("A guarded query has no row");
  const { row, text } = found;
  const status = integer(row, 0);
  return {
    status: status === 200 && text === null ? 404 : status,
    body: text,
    caller: integerOrNull(row, 1),
    version: integerOrNull(row, 2),
    warning: takesLock ? textOrNull(row, 3) : null,
  };
}
