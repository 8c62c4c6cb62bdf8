import { pipeline as connectStreams, Readable } from "node:stream";
import { constants, createGzip, gzipSync } from "node:zlib";
import middy from "@middy/core";
import { executionModeStreamifyResponse } from "@middy/core/StreamifyResponse";
import type { APIGatewayProxyEvent, Context } from "aws-lambda";
import type { Answer, AnswerName, Declaration } from "../contract/declare.ts";
import type { Permission } from "../contract/permissions.ts";
import { type GuardedListQuery, type ListPage, type ListQuery, readFirstPage, readPage } from "../data-api/list.ts";
import { deadlineFromNow, deadlineOf } from "../retry.ts";
import { deliver } from "./deliver.ts";
import { ContractError } from "./errors.ts";
import { headerOf } from "./headers.ts";
import { type Input, inputParser } from "./input.ts";
import { rememberCaller } from "./log.ts";
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
    const deadline = performance.now() + context.getRemainingTimeInMillis() - reserveInMilliseconds;
    if (!first.next || first.count >= slice.limit) {
      return respond(event, beginning(answers) + first.text + end(answers, slice, first, first.count), deadline);
    }
    // A client that reads on is still waiting, so each page has its own deadline.
    const next: NextPage = (cursor, limit) =>
      readPage(query, { after: cursor, limit, offset: 0 }, guard, Math.min(deadlineFromNow(), deadline));
    return respond(event, write(answers, slice, first, next), deadline);
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

/** Before Lambda's time-out, which would end the environment, the function has to break off the list and to log it. */
const reserveInMilliseconds = 1_000;

const compressedBytesMin = 1_024;

/** Compresses a list for clients that accept it: API Gateway compresses buffered answers, but no streams. */
function respond(event: APIGatewayProxyEvent, list: string | AsyncIterable<string>, deadline: number): Response {
  const acceptsGzip = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(headerOf(event, "accept-encoding") ?? "");
  const isCompressed = acceptsGzip && (typeof list !== "string" || list.length >= compressedBytesMin);
  return {
    statusCode: 200,
    headers: { ...uncompressed, ...(isCompressed ? { "Content-Encoding": "gzip" } : {}) },
    body: deliver(event, isCompressed ? compress(list) : Readable.from(list), deadline),
  };
}

const uncompressed = { ...json, Vary: "Accept-Encoding" } as const;

function compress(list: string | AsyncIterable<string>): Readable {
  const level = constants.Z_BEST_SPEED;
  if (typeof list === "string") return Readable.from([gzipSync(list, { level })]);
  return connectStreams(Readable.from(list), createGzip({ level }), () => undefined);
}
