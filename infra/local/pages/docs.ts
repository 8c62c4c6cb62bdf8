import { createReadStream } from "node:fs";
import type { ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { documentFile } from "../../api/openapi/file.ts";
import type { PageHandler } from "../../aws-local/api-gateway/server.ts";
import { type ReferenceOptions, referencePage, scalarFile } from "../../reference/page.ts";

/**
 * Serves the reference of the interface, where people can sign in and try requests. Who signs in comes back to `origin`,
 * and cookies belong to one host name, so the page is sent there from the others of this machine.
 */
export function docs(signIn: ReferenceOptions["signIn"], origin?: string): PageHandler {
  const html = referencePage({ base: "/docs/", signIn, api: "'self'" });
  const pages: Readonly<Record<string, (response: ServerResponse, host?: string) => Promise<unknown>>> = {
    "/docs": async (response, host) => {
      if (origin !== undefined && isOtherName(host, origin))
        return void response.writeHead(302, { Location: `${origin}/docs` }).end();
      const policy = "frame-ancestors 'none'";
      response.writeHead(200, { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy });
      response.end(html);
    },
    "/docs/openapi.json": (response) => sendFile(response, documentFile, "application/json"),
    "/docs/scalar.js": (response) => sendFile(response, scalarFile, "text/javascript; charset=utf-8"),
  };
  return async ({ method, url = "", headers }, response) => {
    const respond = method === "GET" ? pages[url.replace(/\?.*$/s, "")] : undefined;
    await respond?.(response, headers.host);
    return respond !== undefined;
  };
}

/** Another port may be that of a tunnel, behind which the origin is not. */
function isOtherName(host: string | undefined, origin: string): boolean {
  const [requested, own] = [URL.parse(`http://${host}`), new URL(origin)];
  return requested?.port === own.port && requested.hostname !== own.hostname;
}

async function sendFile(response: ServerResponse, file: string, type: string): Promise<void> {
  response.writeHead(200, { "Content-Type": type, "X-Content-Type-Options": "nosniff" });
  await pipeline(createReadStream(file), response);
}
