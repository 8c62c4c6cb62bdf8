import type { APIGatewayProxyEvent } from "aws-lambda";
import { type Declaration, functionName } from "../contract/declare.ts";
import type { Exchange, Middleware } from "./response.ts";

let cold = true;

type Level = "info" | "warn" | "error";
type Fields = Readonly<Record<string, unknown>>;

/** What is known of a request, for all that is logged of it. */
const known = new WeakMap<APIGatewayProxyEvent, Fields>();

/** Remembers who sent a request. */
export function rememberCaller(event: APIGatewayProxyEvent, caller: number | null | undefined): void {
  if (caller) known.set(event, { ...known.get(event), callerId: caller });
}

/** Writes one line of JSON about a request; CloudWatch Logs finds its fields by name. */
export function log(event: APIGatewayProxyEvent, level: Level, fields: Fields): void {
  const { requestId } = event.requestContext;
  console.log(JSON.stringify({ level, time: new Date().toISOString(), requestId, ...known.get(event), ...fields }));
}

/** What of an error may be kept: never the request, which carries the token. */
export function described(error: unknown): Fields {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, stack, cause } = error;
  return { name, message, stack, ...(cause === undefined ? {} : { cause: described(cause) }) };
}

/**
 * Logs every request once it is answered: what was asked, the status, how long it took. A list is answered when its
 * first page is there, and the rest is yet to be read.
 */
export function logRequests(declaration: Declaration): Middleware {
  const endpoint = functionName(declaration);
  const streamed = "list" in declaration.answers ? { streamed: true } : {};
  const started = new WeakMap<object, number>();
  const answered = ({ event, response }: Exchange) => {
    const now = performance.now();
    log(event, "info", {
      path: event.path,
      status: response?.statusCode,
      durationInMilliseconds: Math.round(10 * (now - (started.get(event) ?? now))) / 10,
      cold,
      ...streamed,
    });
    cold = false;
  };
  return {
    before: ({ event }) => {
      started.set(event, performance.now());
      known.set(event, { endpoint });
    },
    after: answered,
    onError: answered,
  };
}
