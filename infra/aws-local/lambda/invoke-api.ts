import type { IncomingMessage, ServerResponse } from "node:http";
import { sendJson } from "../http/send-json.ts";
import { ServiceError } from "../http/service-error.ts";
import type { Key } from "../http/signature.ts";
import { bodyReader } from "../http/signed-body.ts";
import type { Lambda } from "./lambda.ts";

const invocations = /^\/2015-03-31\/functions\/([^/?]+)\/invocations(?:\?(.*))?$/;
const latest = "$LATEST";
/** Higher than Lambda's own limits, which reject with 413 and Lambda's message. */
const bodyBytesMax = 64 * 1_048_576;

interface InvokeResponse {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Lambda's own Invoke API, as `pages` of the gateway, so that the AWS CLI runs functions with `--endpoint-url` (Lambda API reference, "Invoke").
 * Requests must be signed, because operators' functions can be run by it. A request with an `Origin` header, which
 * browsers send for a web page, gets 403.
 * @param versions runs the published versions of functions, by their qualifiers
 * @returns whether it has responded
 */
export const invokeApi = (lambda: Lambda, key: Key, versions: ReadonlyMap<string, Lambda> = new Map()) => {
  const bodyOf = bodyReader("lambda", key, 413, "RequestTooLargeException", "Request must be smaller");
  const all = new Map([...versions, [latest, lambda]]);

  const respond = async (request: IncomingMessage, target: string, version: string): Promise<InvokeResponse> => {
    const body = await bodyOf(request, bodyBytesMax);
    // A function is named by its name, its ARN, or account and name: `123456789012:function:name`.
    const name = target.replaceAll("%3A", ":").replace(/^(?:arn:aws:lambda:[\w-]+:)?\d{12}:function:/, "");
    const invoked = all.get(version);
    if (!invoked?.names.has(name)) {
      const qualified = version === latest ? name : `${name}:${version}`;
      throw new ServiceError(404, "ResourceNotFoundException", `Function not found: ${qualified}`);
    }
    const event = parsePayload(body.toString());
    const type = request.headers["x-amz-invocation-type"];
    if (type === "DryRun") return { status: 204 };
    if (type === "Event") {
      // Lambda accepts the event and reports no result; the runtime logs a failure.
      invoked.send(name, event).catch(() => {});
      return { status: 202 };
    }
    const invocation = await invoked.invoke(name, event);
    const headers = { "X-Amz-Executed-Version": version };
    return "error" in invocation
      ? { status: 200, body: invocation.error, headers: { ...headers, "X-Amz-Function-Error": "Unhandled" } }
      : { status: 200, body: invocation.result, headers };
  };

  return async (request: IncomingMessage, response: ServerResponse): Promise<boolean> => {
    const [, target, query] = invocations.exec(request.url ?? "") ?? [];
    if (target === undefined || request.method !== "POST") return false;
    const version = new URLSearchParams(query).get("Qualifier") ?? latest;
    const { status, body, headers } = await respond(request, target, version).catch(errorResponse);
    sendJson(response, status, body === undefined ? "" : JSON.stringify(body), headers);
    return true;
  };
};

/** A missing payload counts as an empty object. */
function parsePayload(text: string): unknown {
  try {
    return text === "" ? {} : JSON.parse(text);
  } catch {
    throw new ServiceError(400, "InvalidRequestContentException", "Could not parse request body into json");
  }
}

function errorResponse(error: unknown): InvokeResponse {
  if (!(error instanceof ServiceError)) throw error;
  const { status, type, message, members } = error;
  // The message of a throttled request alone begins with a small letter (Lambda API reference, "Invoke").
  const body = { Type: "User", [status === 429 ? "message" : "Message"]: message, ...members };
  return { status, body, headers: { "x-amzn-ErrorType": type } };
}
