import type { IncomingMessage, ServerResponse } from "node:http";
import { read } from "../http/request-body.ts";
import { type Key, signatureErrors, verifier } from "../http/signature.ts";
import type { Lambda } from "./lambda.ts";
import { RequestTooLarge, TooManyRequests } from "./refusals.ts";

const invocations = /^\/2015-03-31\/functions\/([^/?]+)\/invocations(?:\?(.*))?$/;
const latest = "$LATEST";
/** Higher than Lambda's own limits, which answer 413 with Lambda's message. */
const bodyBytesMax = 64 * 1_048_576;

/**
 * Lambda's own Invoke API, as `pages` of the gateway, so that the AWS CLI runs functions with `--endpoint-url` (Lambda API reference, "Invoke").
 * Requests must be signed, because operators' functions can be run by it. A request with an `Origin` header, which
 * browsers send for a web page, gets 403.
 * @param versions runs the published versions of functions, by their qualifiers
 * @returns whether it has answered
 */
export const invokeApi = (lambda: Lambda, key: Key, versions: ReadonlyMap<string, Lambda> = new Map()) => {
  const signatureErrorOf = verifier("lambda", key);
  const all = new Map([...versions, [latest, lambda]]);
  return async (request: IncomingMessage, response: ServerResponse): Promise<boolean> => {
    const [, target, query] = invocations.exec(request.url ?? "") ?? [];
    if (target === undefined || request.method !== "POST") return false;
    const version = new URLSearchParams(query).get("Qualifier") ?? latest;
    const name = nameIn(target.replaceAll("%3A", ":"));
    send(response, await handle({ lambda: all.get(version), name, version }, request, signatureErrorOf));
    return true;
  };
};

/** A function is given by its name, its ARN, or account and name: `123456789012:function:name`. */
const nameIn = (target: string): string => target.replace(/^(?:arn:aws:lambda:[\w-]+:)?\d{12}:function:/, "");

interface Target {
  /** Undefined if there is no such version. */
  readonly lambda: Lambda | undefined;
  readonly name: string;
  readonly version: string;
}

function send(response: ServerResponse, { status, body, headers }: InvokeResponse): void {
  const text = body === undefined ? "" : JSON.stringify(body);
  response.writeHead(status, {
    "Content-Type": "application/json",
    "x-amzn-RequestId": crypto.randomUUID(),
    ...(status === 204 ? {} : { "Content-Length": Buffer.byteLength(text) }),
    ...headers,
  });
  response.end(text);
}

interface InvokeResponse {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

async function handle(
  { lambda, name, version }: Target,
  request: IncomingMessage,
  signatureErrorOf: ReturnType<typeof verifier>,
): Promise<InvokeResponse> {
  if (request.headers.origin !== undefined)
    return errorResponse(403, "AccessDeniedException", "Functions can be invoked from no web page");
  const body = await read(request, bodyBytesMax);
  if (!body) return errorResponse(413, "RequestTooLargeException", "Request must be smaller");
  const error = signatureErrorOf(request, body);
  if (error) return errorResponse(403, ...signatureErrors("lambda")[error]);
  if (!lambda?.names.has(name)) {
    const qualified = version === latest ? name : `${name}:${version}`;
    return errorResponse(404, "ResourceNotFoundException", `Function not found: ${qualified}`);
  }
  const text = body.toString();
  const payload = parsePayload(text);
  if (!payload) return errorResponse(400, "InvalidRequestContentException", "Could not parse request body into json");
  const type = request.headers["x-amz-invocation-type"] ?? "RequestResponse";
  if (type === "DryRun") return { status: 204 };
  try {
    if (type !== "Event") return resultResponse(version, await lambda.invoke(name, payload.event));
    // Lambda accepts the event and reports no result; the runtime logs a failure.
    lambda.send(name, payload.event).catch(() => {});
    return { status: 202 };
  } catch (error) {
    if (error instanceof TooManyRequests) return throttled(error);
    if (error instanceof RequestTooLarge) return errorResponse(413, error.name, error.message);
    throw error;
  }
}

const errorResponse = (status: number, type: string, message: string): InvokeResponse => ({
  status,
  body: { Type: "User", Message: message },
  headers: { "x-amzn-ErrorType": type },
});

/** This error's message begins with a small letter (Lambda API reference, "Invoke"). */
const throttled = ({ name, message, reason }: TooManyRequests): InvokeResponse => ({
  status: 429,
  body: { Type: "User", message, Reason: reason },
  headers: { "x-amzn-ErrorType": name },
});

function resultResponse(version: string, invocation: Awaited<ReturnType<Lambda["invoke"]>>): InvokeResponse {
  const headers = { "X-Amz-Executed-Version": version };
  return "error" in invocation
    ? { status: 200, body: invocation.error, headers: { ...headers, "X-Amz-Function-Error": "Unhandled" } }
    : { status: 200, body: invocation.result, headers };
}

/** A missing payload counts as an empty object. */
function parsePayload(text: string): { event: unknown } | undefined {
  try {
    return { event: text === "" ? {} : JSON.parse(text) };
  } catch {
    return undefined;
  }
}
