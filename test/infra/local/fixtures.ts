import { join } from "node:path";
import { writeFunctions as writeAnywhere } from "../../../infra/aws-local/test/functions.ts";

export { streaming } from "../../../infra/aws-local/test/functions.ts";
export { send } from "../../../infra/aws-local/test/send.ts";

/** Beneath node_modules, so that they find packages. */
export const writeFunctions = (sources: Readonly<Record<string, string>>) =>
  writeAnywhere(sources, join(import.meta.dirname, "../../../node_modules/.cache"));

/** Answers with the event it was given. */
export const echo = `export const handler = async (event) => ({ statusCode: 200, body: JSON.stringify(event) });`;

/** What a client of the SDK would send, signed; it goes nowhere. */
export async function captured(
  run: (requestHandler: { handle(request: unknown): Promise<never> }) => Promise<unknown>,
): Promise<{ method: string; path: string; headers: Record<string, string>; body: string }> {
  const { promise, resolve } = Promise.withResolvers<HttpRequest>();
  const handle = async (request: unknown) => {
    resolve(request as HttpRequest);
    throw new Error("Captured");
  };
  await run({ handle }).catch(() => {});
  const { method, path, query = {}, headers, body } = await promise;
  return {
    method,
    path: `${path}?${new URLSearchParams(query)}`.replace(/\?$/, ""),
    headers,
    body: Buffer.from(body).toString(),
  };
}

interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly query?: Record<string, string>;
  readonly headers: Record<string, string>;
  readonly body: string | Uint8Array;
}
