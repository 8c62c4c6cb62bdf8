import type { IncomingMessage, ServerResponse } from "node:http";
import { read } from "../http/request-body.ts";
import { type Key, refusals, verifier } from "../http/signature.ts";
import { type Lambda, RequestTooLarge, TooManyRequests } from "../lambda/lambda.ts";

const invocations = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/;
/** Lambda refuses by size what this still reads. */
const bodyBytesMax = 64 * 1_048_576;

/**
 * Lambda's own Invoke API, so that the AWS CLI runs functions with `--endpoint-url` (Lambda API reference, "Invoke").
 * It asks for the key, since it runs what operators may; and it answers no page in a browser, which names its origin.
 * @returns whether the request was one for it
 */
export const invokeApi = (lambda: Lambda, key: Key) => {
  const flawOf = verifier("lambda", key);
  return async (path: string, request: IncomingMessage, response: ServerResponse): Promise<boolean> => {
    const name = invocations.exec(path)?.[1];
    if (name === undefined || request.method !== "POST") return false;
    send(response, await answerTo(lambda, name, request, flawOf));
    return true;
  };
};

function send(response: ServerResponse, { status, body, headers }: Answer): void {
  const text = body === undefined ? "" : JSON.stringify(body);
  response.writeHead(status, {
    "Content-Type": "application/json",
    "x-amzn-RequestId": crypto.randomUUID(),
    ...(status === 204 ? {} : { "Content-Length": Buffer.byteLength(text) }),
    ...headers,
  });
  response.end(text);
}

interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

async function answerTo(
  lambda: Lambda,
  name: string,
  request: IncomingMessage,
  flawOf: ReturnType<typeof verifier>,
): Promise<Answer> {
  if (request.headers.origin !== undefined)
    return refusal(403, "AccessDeniedException", "Functions can be invoked from no web page");
  const body = await read(request, bodyBytesMax);
  if (!body) return refusal(413, "RequestTooLargeException", "Request must be smaller");
  const flaw = flawOf(request, body);
  if (flaw) return refusal(403, ...refusals("lambda")[flaw]);
  if (!lambda.names.has(name)) return refusal(404, "ResourceNotFoundException", `Function not found: ${name}`);
  const text = body.toString();
  const payload = parsed(text);
  if (!payload) return refusal(400, "InvalidRequestContentException", "Could not parse request body into json");
  const type = request.headers["x-amz-invocation-type"] ?? "RequestResponse";
  if (type === "DryRun") return { status: 204 };
  try {
    const invocation = lambda.invoke(name, payload.event);
    if (type !== "Event") return outcome(await invocation);
    // Lambda takes the event and reports nothing more; the runtime logs what fails.
    invocation.catch(() => {});
    return { status: 202 };
  } catch (error) {
    if (error instanceof TooManyRequests) return refusal(429, "TooManyRequestsException", error.message);
    if (error instanceof RequestTooLarge) return refusal(413, "RequestTooLargeException", error.message);
    throw error;
  }
}

const refusal = (status: number, type: string, message: string): Answer => ({
  status,
  body: { Type: "User", Message: message },
  headers: { "x-amzn-ErrorType": type },
});

function outcome(invocation: Awaited<ReturnType<Lambda["invoke"]>>): Answer {
  const headers = { "X-Amz-Executed-Version": "$LATEST" };
  return "error" in invocation
    ? { status: 200, body: invocation.error, headers: { ...headers, "X-Amz-Function-Error": "Unhandled" } }
    : { status: 200, body: invocation.result, headers };
}

/** No payload is an empty object. */
function parsed(text: string): { event: unknown } | undefined {
  try {
    return { event: text === "" ? {} : JSON.parse(text) };
  } catch {
    return undefined;
  }
}
