import { pipeline as connectStreams, Readable } from "node:stream";
import { constants, createGzip } from "node:zlib";
import { executionModeStreamifyResponse } from "@middy/core/StreamifyResponse";
import { deadlineFromNow, deadlineOf } from "../aws/retry.ts";
import type { Declaration, ResponseName } from "../contract/declare.ts";
import { cacheTagHeader } from "../contract/headers.ts";
import { pageLimitMax } from "../contract/parameters.ts";
import { limitAttempts } from "../data-api/client.ts";
import {
  type Cursor,
  type ListQuery,
  type PageRequest,
  type PageResult,
  readFirstPage,
  readPage,
} from "../data-api/list.ts";
import { deliver, pieceBytes } from "./deliver.ts";
import { acceptsGzip, etagOf, isKnown } from "./headers.ts";
import { type Input, inputParser } from "./input.ts";
import { rememberCaller } from "./log.ts";
import { pipeline, timeoutsOf } from "./pipeline.ts";
import { ContractError, json, statementError } from "./response.ts";
import { guardOf } from "./session.ts";

type ListDeclaration = Declaration & { readonly response: ListResponses };

type ListResponses = Extract<Declaration["response"], { list: ResponseName }>;

type Range = Required<Pick<PageRequest, "limit" | "offset">>;

/** Of a list without pages. */
const everything: Range = { limit: Number.MAX_SAFE_INTEGER, offset: 0 };

/** The function breaks off a list, and logs it, so long before Lambda's time-out, which would end the environment. */
const reserveInMilliseconds = 1_000;

/** API Gateway compresses buffered responses, but no streams. A shorter list is not worth compressing. */
const compressedBytesMin = 1_024;

const uncompressed = { ...json, Vary: "Accept-Encoding" } as const;
const compressed = { ...uncompressed, "Content-Encoding": "gzip" } as const;

/**
 * Makes the Lambda handler of an endpoint that gives a list. By default a list has no limit, so it is streamed while
 * its pages are read, and memory does not grow with the catalogue.
 * @param complete writes into the JSON what the database does not know
 */
export function serveList<const D extends ListDeclaration>(
  declaration: D,
  toQuery: (input: Input<D>) => ListQuery,
  complete = (json: string) => json,
) {
  const parse = inputParser(declaration);
  const timeouts = timeoutsOf(declaration);
  limitAttempts(timeouts);
  const streaming = { executionMode: executionModeStreamifyResponse };
  return pipeline(declaration, streaming).handler(async (event, context) => {
    const guard = guardOf(declaration, event);
    const input = parse(event);
    const range: Range = { ...everything, ...input.query };
    const tags = range.limit <= pageLimitMax ? cacheTagsOf(declaration, input.path) : {};
    // A public list always exists, so nothing has to be read.
    if (event.httpMethod === "HEAD" && !guard)
      return { statusCode: 200, headers: { ...uncompressed, ...tags }, body: "" };
    const query = toQuery(input);
    const completed = (page: PageResult) => ({ ...page, text: complete(page.text) });
    const first = completed(await readFirstPage(query, { ...range, guard, deadline: deadlineOf(context, timeouts) }));
    rememberCaller(event, first.caller);
    if (first.status !== 200) throw statementError(declaration, first.status);

    const deadline = performance.now() + context.getRemainingTimeInMillis() - reserveInMilliseconds;
    // A client that reads on is still waiting, so each page has its own deadline.
    const next: NextPage = async (after, limit) =>
      completed(
        await readPage(query, { after, limit, guard, deadline: Math.min(deadlineFromNow(timeouts), deadline) }),
      );
    const frame = frameOf(declaration.response, range, first.max);
    const isCompressed = acceptsGzip(event) && first.text.length >= compressedBytesMin;
    const isWhole = !first.next || first.count >= range.limit;
    const whole = isWhole ? frame.start + first.text + frame.end(first.count) : undefined;
    // A list that the reader gets in one piece is cheaper without streams.
    const isOnePiece = whole !== undefined && !isCompressed && whole.length <= pieceBytes;
    const list = () => Readable.from(whole === undefined ? textsOf(frame, range, first, next) : [whole]);
    const body = () => deliver(event, isCompressed ? compress(list()) : list(), deadline);
    const isTagged = whole !== undefined && cacheTagHeader in tags;
    const etag = isTagged && !hasRandom(declaration.response, whole) ? etagOf(whole) : undefined;
    return {
      statusCode: 200,
      headers: {
        ...(isCompressed ? compressed : uncompressed),
        // A cache sends a response as often as clients request it, so only lists of one result (below 1 MB) are cached.
        ...(isTagged ? tags : {}),
        ...(etag ? { ETag: etag } : {}),
      },
      body: isKnown(event, etag) ? "" : isOnePiece ? whole : body(),
    };
  });
}

/** The cache tags of a list. Only a number becomes part of a tag: an id that no record can have has none. */
function cacheTagsOf({ tags = [] }: Declaration, { id }: { readonly id?: unknown }): Record<string, string> {
  const filled = tags
    .filter((tag) => !tag.includes("{id}") || typeof id === "number")
    .map((tag) => tag.replace("{id}", `${id}`));
  return filled.length > 0 ? { [cacheTagHeader]: filled.join(",") } : {};
}

/** In JSON only the name of a field has a quotation mark without a backslash before it and a colon behind it. */
const hasRandom = ({ random }: ListResponses, text: string): boolean =>
  random !== undefined && text.includes(`"${random}":`);

/** What is before and after the records of a list. `to` counts those that were sent. */
function frameOf({ field, count }: ListResponses, { offset }: Range, max: number) {
  const from = Math.min(offset, max);
  const counts = (sent: number) =>
    `,"max":${max},"from":${from},"to":${from + sent}${count ? `,"count":${sent}` : ""}}`;
  return {
    start: field ? `{${JSON.stringify(field)}:[` : "[",
    end: (sent: number) => `]${field ? counts(sent) : ""}`,
  };
}

type NextPage = (after: Cursor, limit: number) => Promise<PageResult>;

/** The text of a list, page by page. */
async function* textsOf(
  { start, end }: ReturnType<typeof frameOf>,
  { limit }: Range,
  first: PageResult,
  next: NextPage,
): AsyncGenerator<string> {
  let text = start + first.text;
  let sent = first.count;
  for (let page = first; page.next && sent < limit; sent += page.count) {
    yield text;
    page = await next(page.next, limit - sent);
    if (page.status !== 200) throw new ContractError(page.status);
    text = page.count > 0 ? `,${page.text}` : "";
  }
  yield text + end(sent);
}

const compress = (list: Readable): Readable =>
  connectStreams(list, createGzip({ level: constants.Z_BEST_SPEED }), () => undefined);
