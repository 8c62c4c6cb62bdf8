import { pipeline as connectStreams, Readable } from "node:stream";
import { constants, createGzip, gzipSync } from "node:zlib";
import middy from "@middy/core";
import { executionModeStreamifyResponse } from "@middy/core/StreamifyResponse";
import type { APIGatewayProxyEvent, Context } from "aws-lambda";
import type { Answer, AnswerName, Declaration } from "../contract/declare.ts";
import type { Permission } from "../contract/permissions.ts";
import { type GuardedListQuery, type ListPage, type ListQuery, readFirstPage, readPage } from "../database/list.ts";
import { deadlineFromNow, deadlineOf } from "../retry.ts";
import { ContractError } from "./errors.ts";
import { headerOf } from "./headers.ts";
import { type Input, inputParser } from "./input.ts";
import { log, rememberCaller, serializeError } from "./log.ts";
import { pipeline, withoutTimeout } from "./pipeline.ts";
import { json, type Response } from "./response.ts";
import { guardOf } from "./session.ts";

type ListDeclaration = Declaration & { readonly answers: ListAnswers };

type ListAnswers = Extract<Declaration["answers"], { list: AnswerName }>;

type ListQueryOf<D extends ListDeclaration> = D extends { readonly permission: Permission }
  ? GuardedListQuery<Answer<D["answers"]["list"]>>
  : ListQuery<Answer<D["answers"]["list"]>>;

interface Slice {
  readonly limit: number;
  readonly offset: number;
}

const everything: Slice = { limit: Number.MAX_SAFE_INTEGER, offset: 0 };

/**
 * Makes the Lambda handler of an endpoint that gives a list. By default a list has no limit, so it is streamed while
 * its pages are read, and memory does not grow with the catalogue. A list of one page is sent at once.
 */
export function serveList<const D extends ListDeclaration>(declaration: D, work: (input: Input<D>) => ListQueryOf<D>) {
  const parse = inputParser(declaration);
  const handler = async (event: APIGatewayProxyEvent, context: Context): Promise<Response> => {
    const guard = guardOf(declaration, event);
    const input = parse(event);
    // A public list always exists, so nothing has to be read.
    if (event.httpMethod === "HEAD" && !guard) return { statusCode: 200, headers: { ...uncompressed }, body: "" };
    const query = work(input);
    const slice = isSlice(input.query) ? input.query : everything;
    const first = await readFirstPage(query, { ...slice, after: undefined }, guard, deadlineOf(context));
    rememberCaller(event, first.caller);
    if (first.status !== 200) throw new ContractError(first.status);

    const { answers } = declaration;
    if (!first.next || first.count >= slice.limit) {
      return compress(event, beginning(answers) + first.text + end(answers, slice, first, first.count));
    }
    const deadline = performance.now() + context.getRemainingTimeInMillis() - reserveInMilliseconds;
    // A client that reads on is still waiting, so each page has its own deadline.
    const next: NextPage = (cursor, limit) =>
      readPage(query, { after: cursor, limit, offset: 0 }, guard, Math.min(deadlineFromNow(), deadline));
    return compress(event, endAt(deadline, logErrors(event, deadline, write(answers, slice, first, next))));
  };
  return middy<APIGatewayProxyEvent, Response>({ ...withoutTimeout, executionMode: executionModeStreamifyResponse })
    .handler(handler)
    .use(pipeline(declaration));
}

const isSlice = (query: object): query is Slice => "limit" in query && "offset" in query;

type NextPage = (after: NonNullable<ListPage["next"]>, limit: number) => Promise<ListPage>;

/** The text of a list, page by page. `to` comes last and counts what was sent. */
async function* write(answers: ListAnswers, slice: Slice, first: ListPage, next: NextPage): AsyncGenerator<string> {
  let page = first;
  let sent = page.count;
  yield beginning(answers) + page.text;
  while (page.next && sent < slice.limit) {
    page = await next(page.next, slice.limit - sent);
    if (page.status !== 200) throw new ContractError(page.status);
    sent += page.count;
    if (page.count > 0) yield `,${page.text}`;
  }
  yield end(answers, slice, first, sent);
}

const beginning = ({ field }: ListAnswers): string => (field ? `{${JSON.stringify(field)}:[` : "[");

function end({ field, count }: ListAnswers, { offset }: Slice, { max }: ListPage, sent: number): string {
  if (!field) return "]";
  const from = Math.min(offset, max);
  return `],"max":${max},"from":${from},"to":${from + sent}${count ? `,"count":${sent}` : ""}}`;
}

/** Before Lambda's time-out the function has to break off the list and to log it. */
const reserveInMilliseconds = 1_000;

/**
 * Breaks off a list that takes too long to write or to read. Otherwise Lambda's time-out would end the environment, and
 * nothing would be logged about the request.
 */
function endAt(deadline: number, parts: AsyncIterable<string>): Readable {
  const stream = Readable.from(parts);
  const timer = setTimeout(
    () => stream.destroy(new Error("The list takes longer than it may")),
    deadline - performance.now(),
  );
  return stream.once("close", () => clearTimeout(timer));
}

/**
 * Logs why a list breaks off. Its status has been sent when a later page fails, so the connection is closed: half a
 * list never looks complete. A time-out may be the client's fault and is a warning; anything else is an error.
 */
async function* logErrors(
  event: APIGatewayProxyEvent,
  deadline: number,
  parts: AsyncIterable<string>,
): AsyncGenerator<string> {
  try {
    yield* parts;
  } catch (error) {
    // A timer may fire a millisecond early.
    log(event, performance.now() + 1 < deadline ? "error" : "warn", { broken: true, error: serializeError(error) });
    throw error;
  }
}

const compressedBytesMin = 1_024;
const uncompressed = { ...json, Vary: "Accept-Encoding" } as const;

/** Compresses an answer for clients that accept it: API Gateway compresses buffered answers, but no streams. */
function compress(event: APIGatewayProxyEvent, body: string | Readable): Response {
  const acceptsGzip = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(headerOf(event, "accept-encoding") ?? "");
  if (typeof body === "string" && (!acceptsGzip || body.length < compressedBytesMin)) {
    return { statusCode: 200, headers: { ...uncompressed }, body };
  }
  if (!acceptsGzip) return { statusCode: 200, headers: { ...uncompressed }, body };
  const level = constants.Z_BEST_SPEED;
  return {
    statusCode: 200,
    headers: { ...uncompressed, "Content-Encoding": "gzip" },
    body:
      typeof body === "string"
        ? Readable.from([gzipSync(body, { level })])
        : connectStreams(body, createGzip({ level }), () => undefined),
  };
}
