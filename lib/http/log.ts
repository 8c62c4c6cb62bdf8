import type { Exchange, Middleware } from "./response.ts";

let cold = true;

/** Writes one line of JSON; CloudWatch Logs finds its fields by name. */
export function log(level: "info" | "warn" | "error", fields: Readonly<Record<string, unknown>>): void {
  console.log(JSON.stringify({ level, time: new Date().toISOString(), ...fields }));
}

/** What of an error may be kept: never the request, which carries the token. */
export function described(error: unknown): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, stack, cause } = error;
  return { name, message, stack, ...(cause === undefined ? {} : { cause: described(cause) }) };
}

/** Logs every request once it is answered: what was asked, the status, how long it took. */
export function logRequests(endpoint: string): Middleware {
  const started = new WeakMap<object, number>();
  const answered = ({ event, response }: Exchange) => {
    const now = performance.now();
    log("info", {
      requestId: event.requestContext.requestId,
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
