import type { APIGatewayProxyEvent } from "aws-lambda";
import type { Exchange, Middleware } from "./response.ts";

let cold = true;

type Level = "info" | "warn" | "error";
type Fields = Readonly<Record<string, unknown>>;

const callers = new WeakMap<APIGatewayProxyEvent, number>();

/** Remembers who sent a request, for all that is logged of it. */
export function rememberCaller(event: APIGatewayProxyEvent, caller: number | null | undefined): void {
  if (caller) callers.set(event, caller);
}

/** Writes one line of JSON about a request; CloudWatch Logs finds its fields by name. */
export function log(event: APIGatewayProxyEvent, level: Level, fields: Fields): void {
  const { requestId } = event.requestContext;
  const callerId = callers.get(event);
  console.log(JSON.stringify({ level, time: new Date().toISOString(), requestId, callerId, ...fields }));
}

/** What of an error may be kept: never the request, which carries the token. */
export function described(error: unknown): Fields {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, stack, cause } = error;
  return { name, message, stack, ...(cause === undefined ? {} : { cause: described(cause) }) };
}

/** Logs every request once it is answered: what was asked, the status, how long it took. */
export function logRequests(endpoint: string): Middleware {
  const started = new WeakMap<object, number>();
  const answered = ({ event, response }: Exchange) => {
    const now = performance.now();
    log(event, "info", {
      endpoint,
      path: event.path,
      status: response?.statusCode,
      durationInMilliseconds: Math.round(10 * (now - (started.get(event) ?? now))) / 10,
      cold,
    });
    cold = false;
  };
  return {
    before: ({ event }) => {
      started.set(event, performance.now());
    },
    after: answered,
    onError: answered,
  };
}
