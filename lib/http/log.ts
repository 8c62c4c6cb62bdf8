import type { APIGatewayProxyEvent } from "aws-lambda";
import { type Level, writeLog } from "../aws/log.ts";
import { type Declaration, functionName } from "../contract/declare.ts";
import type { Hook, Middleware } from "./response.ts";

let isColdStart = true;

type Fields = Readonly<Record<string, unknown>>;

/** When each request came, and the fields of every line about it. Handlers know a request only by its event. */
const requests = new WeakMap<APIGatewayProxyEvent, { readonly startedAt: number; common: Fields }>();

/** Adds the caller's id to all further lines about the request. */
export function rememberCaller(event: APIGatewayProxyEvent, caller: number | null | undefined): void {
  const request = requests.get(event);
  if (caller && request) request.common = { ...request.common, callerId: caller };
}

/** For how many milliseconds a request has been worked on. */
export function durationOf(event: APIGatewayProxyEvent): number {
  const now = performance.now();
  return now - (requests.get(event)?.startedAt ?? now);
}

/** Logs a line about a request. */
export function log(event: APIGatewayProxyEvent, level: Level, fields: Fields): void {
  const { requestId } = event.requestContext;
  writeLog(level, { requestId, ...requests.get(event)?.common, ...fields });
}

/** The fields of an error that may be logged: never the request, which holds the token. */
export function serializeError(error: unknown): Fields {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, stack, cause } = error;
  return { name, message, stack, ...(cause === undefined ? {} : { cause: serializeError(cause) }) };
}

/**
 * Logs every request with its response: path, status and duration. A streamed list is logged when its first page has
 * been read.
 */
export function logRequests(declaration: Declaration): Middleware {
  const endpoint = functionName(declaration);
  const streamed = "list" in declaration.response ? { streamed: true } : {};
  const logResponse: Hook = ({ event, response }) => {
    log(event, "info", {
      path: event.path,
      status: response?.statusCode,
      durationInMilliseconds: Math.round(10 * durationOf(event)) / 10,
      cold: isColdStart,
      ...streamed,
    });
    isColdStart = false;
  };
  return {
    before: ({ event, context }) => {
      // Lambda's own lines have this id.
      const common = { endpoint, invocationId: context.awsRequestId };
      requests.set(event, { startedAt: performance.now(), common });
    },
    after: logResponse,
    onError: logResponse,
  };
}
