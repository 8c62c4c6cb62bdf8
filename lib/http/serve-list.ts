import { pipeline as connect, Readable } from "node:stream";
import { constants, createGzip, gzipSync } from "node:zlib";
import middy from "@middy/core";
import { executionModeStreamifyResponse } from "@middy/core/StreamifyResponse";
import type { APIGatewayProxyEvent, Context } from "aws-lambda";
import type { Answer, AnswerName, Declaration } from "../contract/declare.ts";
import type { Permission } from "../contract/permissions.ts";
import { type GuardedListQuery, type ListPage, type ListQuery, readFirstPage, readPage } from "../database/list.ts";
import { deadlineOf, patient } from "../retry.ts";
import { ContractError } from "./errors.ts";
import { headerOf } from "./headers.ts";
import { type Input, reader } from "./input.ts";
import { described, log, rememberCaller } from "./log.ts";
import { pipeline, untimed } from "./pipeline.ts";
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
 * Makes the Lambda handler of an endpoint that gives a list. By default a list has no end, so it is written while its
 * pages arrive, and memory does not grow with the catalogue. A list that fits on one page goes out in one piece.
 */
export function serveList<const D extends ListDeclaration>(declaration: D, work: (input: Input<D>) => ListQueryOf<D>) {
  const read = reader(declaration);
  const handler = async (event: APIGatewayProxyEvent, context: Context): Promise<Response> => {
    const guard = guardOf(declaration, event);
    const input = read(event);
    // Any list that everybody may ask for is there, so nothing has to be read.
    if (event.httpMethod === "HEAD" && !guard) return { statusCode: 200, headers: { ...uncompressed }, body: "" };
    const query = work(input);
    const slice = isSlice(input.query) ? input.query : everything;
    const first = await readFirstPage(query, { ...slice, after: undefined }, guard, deadlineOf(context));
    rememberCaller(event, first.caller);
    if (first.status !== 200) throw new ContractError(first.status);

    const { answers } = declaration;
    if (!first.next || first.count >= slice.limit) {
      return compressed(event, beginning(answers) + first.text + end(answers, slice, first, first.count));
    }
    const last = Date.now() + context.getRemainingTimeInMillis() - restInMilliseconds;
    // Whoever reads on has not gone, so each page has a time of its own.
    const next: NextPage = (cursor, limit) =>
      readPage(query, { after: cursor, limit, offset: 0 }, guard, Math.min(patient(), last));
    return compressed(event, endedBy(last, logged(event, last, write(answers, slice, first, next))));
  };
  return middy<APIGatewayProxyEvent, Response>({ ...untimed, executionMode: executionModeStreamifyResponse })
    .handler(handler)
    .use(pipeline(declaration));
}

const isSlice = (query: object): query is Slice => "limit" in query && "offset" in query;

type NextPage = (after: NonNullable<ListPage["next"]>, limit: number) => Promise<ListPage>;

/** The text of a list, a part for each page. `to` comes last and is true to what was sent. */
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

/** For Lambda to hear that the list is broken, and to take the line of it, before the function's time is over. */
const restInMilliseconds = 1_000;

/**
 * Breaks a list off that takes too long, to be made or to be read. Lambda, whose limit comes next, would end the whole
 * environment, without a word about the request.
 */
function endedBy(last: number, parts: AsyncIterable<string>): Readable {
  const stream = Readable.from(parts);
  const timer = setTimeout(() => stream.destroy(new Error("The list takes longer than it may")), last - Date.now());
  return stream.once("close", () => clearTimeout(timer));
}

/**
 * The status is out when a later page fails, so the connection breaks: half a list never looks like a whole one. That
 * its time is over may be the reader's doing; everything else is a failure.
 */
async function* logged(
  event: APIGatewayProxyEvent,
  last: number,
  parts: AsyncIterable<string>,
): AsyncGenerator<string> {
  try {
    yield* parts;
  } catch (error) {
    // Timers may be a millisecond early.
    log(event, Date.now() + 1 < last ? "error" : "warn", { broken: true, error: described(error) });
    throw error;
  }
}

const compressedBytesMin = 1_024;
const uncompressed = { ...json, Vary: "Accept-Encoding" } as const;

/** API Gateway compresses buffered answers, but passes streams through as they are. */
function compressed(event: APIGatewayProxyEvent, body: string | Readable): Response {
  const accepts = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(headerOf(event, "accept-encoding") ?? "");
  if (typeof body === "string" && (!accepts || body.length < compressedBytesMin)) {
    return { statusCode: 200, headers: { ...uncompressed }, body };
  }
  if (!accepts) return { statusCode: 200, headers: { ...uncompressed }, body };
  const level = constants.Z_BEST_SPEED;
  return {
    statusCode: 200,
    headers: { ...uncompressed, "Content-Encoding": "gzip" },
    body:
      typeof body === "string"
        ? Readable.from([gzipSync(body, { level })])
        : connect(body, createGzip({ level }), () => undefined),
  };
}
