import { createReadStream } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { documentFile } from "../api/openapi/file.ts";
import { type ReferenceOptions, referencePage, scalarFile } from "../reference/page.ts";

/** Serves the reference of the interface, where people can sign in and try requests. */
export function docs(
  signIn: ReferenceOptions["signIn"],
): (request: IncomingMessage, response: ServerResponse) => Promise<boolean> {
  const html = referencePage({ base: "/docs/", signIn, api: "'self'" });
  const answers: Readonly<Record<string, (response: ServerResponse) => Promise<unknown>>> = {
    "/docs": async (response) => {
      const policy = "frame-ancestors 'none'";
      response.writeHead(200, { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy });
      response.end(html);
    },
    "/docs/openapi.json": (response) => sendFile(response, documentFile, "application/json"),
    "/docs/scalar.js": (response) => sendFile(response, scalarFile, "text/javascript; charset=utf-8"),
  };
  return async ({ method, url = "" }, response) => {
    const answer = method === "GET" ? answers[url.replace(/\?.*$/s, "")] : undefined;
    await answer?.(response);
    return answer !== undefined;
  };
}

async function sendFile(response: ServerResponse, file: string, type: string): Promise<void> {
  response.writeHead(200, { "Content-Type": type, "X-Content-Type-Options": "nosniff" });
  await pipeline(createReadStream(file), response);
}
