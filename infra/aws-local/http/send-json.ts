import type { ServerResponse } from "node:http";

/** Sends a response of AWS, whose body is JSON or empty. */
export function sendJson(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, {
    "content-type": "application/json",
    // A 204 has none (RFC 9110, 8.6).
    ...(status !== 204 && { "content-length": Buffer.byteLength(text) }),
    "x-amzn-requestid": crypto.randomUUID(),
    ...headers,
  });
  response.end(text);
}
