import type { IncomingMessage, ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import type { Lambda } from "./lambda.ts";

const invocations = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/;

/**
 * Lambda's own Invoke API, so that the AWS CLI runs functions with `--endpoint-url` (Lambda API reference, "Invoke").
 * It asks for no credentials, hence pages in a browser, which name their origin, are kept out.
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
  const answer = (status: number, body: unknown, headers: Record<string, string> = {}) => {
    response.writeHead(status, { "Content-Type": "application/json", ...headers });
    response.end(body === undefined ? "" : JSON.stringify(body));
    return true;
  };
  const refuse = (status: number, type: string, Message: string) =>
    answer(status, { Type: "User", Message }, { "x-amzn-ErrorType": type });

  if (request.headers.origin !== undefined) return refuse(403, "AccessDeniedException", "Not for web pages");
  if (!lambda.names.has(name)) return refuse(404, "ResourceNotFoundException", `Function not found: ${name}`);
  let event: unknown;
  try {
    event = request.headers["content-length"] === "0" ? {} : await json(request);
  } catch (error) {
    return refuse(400, "InvalidRequestContentException", `Could not parse request body into json: ${error}`);
  }
  const type = request.headers["x-amz-invocation-type"] ?? "RequestResponse";
  if (type === "DryRun") return answer(204, undefined);
  if (type === "Event") {
    void lambda.invoke(name, event);
    return answer(202, undefined);
  }
  const invocation = await lambda.invoke(name, event);
  return "error" in invocation
    ? answer(200, invocation.error, { "X-Amz-Function-Error": "Unhandled", "X-Amz-Executed-Version": "$LATEST" })
    : answer(200, invocation.result, { "X-Amz-Executed-Version": "$LATEST" });
}
