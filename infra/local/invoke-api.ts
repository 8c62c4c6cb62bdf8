import type { IncomingMessage, ServerResponse } from "node:http";
import { type Lambda, RequestTooLarge } from "./lambda.ts";
import { read } from "./request-body.ts";

const invocations = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/;
const loopback = /^(::1|(::ffff:)?127\.\d+\.\d+\.\d+)$/;
/** Lambda refuses by size what this still reads. */
const bodyBytesMax = 64 * 1_048_576;

/**
 * Lambda's own Invoke API, so that the AWS CLI runs functions with `--endpoint-url` (Lambda API reference, "Invoke").
 * It asks for no credentials, so it serves this machine alone, and no page in a browser: these name their origin, and
 * the gateway has looked at the host.
 * @returns whether the request was one for it
 */
export async function invokeApi(
  lambda: Lambda,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  const name = invocations.exec(path)?.[1];
  if (name === undefined || request.method !== "POST") return false;
  const { status, body, headers } = await answerTo(lambda, name, request);
  const text = body === undefined ? "" : JSON.stringify(body);
  response.writeHead(status, {
    "Content-Type": "application/json",
    "x-amzn-RequestId": crypto.randomUUID(),
    ...(status === 204 ? {} : { "Content-Length": Buffer.byteLength(text) }),
    ...headers,
  });
  response.end(text);
  return true;
}

interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

async function answerTo(lambda: Lambda, name: string, request: IncomingMessage): Promise<Answer> {
  if (request.headers.origin !== undefined || !loopback.test(request.socket.remoteAddress ?? "")) {
    return refusal(
      403,
      "AccessDeniedException",
      "Functions can be invoked from this machine only, and from no web page",
    );
  }
  if (!lambda.names.has(name)) return refusal(404, "ResourceNotFoundException", `Function not found: ${name}`);
  const text = (await read(request, bodyBytesMax))?.toString();
  if (text === undefined) return refusal(413, "RequestTooLargeException", "Request must be smaller");
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
