import type { Sql } from "sql-template-tag";
import { deadlineOf } from "../aws/retry.ts";
import type { Declaration, ResponseName } from "../contract/declare.ts";
import { cacheTagHeader } from "../contract/headers.ts";
import { limitAttempts } from "../data-api/client.ts";
import { readRecord } from "../data-api/query.ts";
import { type Input, inputParser } from "./input.ts";
import { log, rememberCaller } from "./log.ts";
import { pipeline, timeoutsOf } from "./pipeline.ts";
import { json, statementError } from "./response.ts";
import { guardOf } from "./session.ts";

type RecordDeclaration = Declaration & { readonly response: { readonly record: ResponseName } };

/**
 * Makes the Lambda handler of an endpoint that shows one record.
 * @param complete writes into the JSON what the database does not know
 */
export function serve<const D extends RecordDeclaration>(
  declaration: D,
  toQuery: (input: Input<D>) => Sql,
  complete = (json: string) => json,
) {
  const parse = inputParser(declaration);
  const timeouts = timeoutsOf(declaration);
  limitAttempts(timeouts);
  return pipeline(declaration).handler(async (event, context) => {
    const deadline = deadlineOf(context, timeouts);
    const guard = guardOf(declaration, event);
    const found = await readRecord(toQuery(parse(event)), guard, deadline);
    const { status, body, caller, version, warning, tags, slug } = found;
    rememberCaller(event, caller);
    if (warning) log(event, "warn", { message: warning });
    if (status !== 200 || body === null) throw statementError(declaration, status);
    const headers = {
      ...json,
      ...(version && { ETag: `"${version}"` }),
      ...(tags && { [cacheTagHeader]: cacheTagsOf(tags) }),
      ...(slug && { "Content-Location": declaration.path.replace("{slug}", encodeURIComponent(slug)) }),
    };
    return { statusCode: 200, headers, body: complete(body) };
  });
}

/** CloudFront drops the tags of a response beyond these ("Quotas on cache tags"). */
const tagsMax = 50;

/**
 * The tags of a record, each once: its own and those of the related records. If there are too many, the tag of its list
 * stands for each related one: it becomes stale whenever the record does.
 */
function cacheTagsOf(tags: string): string {
  const distinct = new Set(tags.split(","));
  if (distinct.size <= tagsMax) return [...distinct].join();
  const [ofRecord, ...related] = distinct;
  return [ofRecord, ...new Set(related.map((tag) => tag.replace(/-\d+$/, "s")))].join();
}
