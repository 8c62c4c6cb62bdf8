import { createReadStream, readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { documentFile, localServer } from "../../api/openapi/file.ts";
import type { PageHandler } from "../../aws-local/api-gateway/server.ts";
import { type ReferenceOptions, referencePage, scalarFile } from "../../reference/page.ts";

/**
 * Serves the reference of the interface, where people can sign in and try requests. Who signs in comes back to `origin`,
 * and cookies belong to one host name, so the page is sent there from the others of this machine.
 */
export function docs(signIn: ReferenceOptions["signIn"], origin?: string): PageHandler {
  const html = referencePage({ base: "/docs/", signIn, api: "'self'" });
  const document = readFileSync(documentFile, "utf8");
  return async ({ method, url = "", headers }, response) => {
    const path = method === "GET" ? url.replace(/\?.*$/s, "") : undefined;
    if (path === "/") response.writeHead(302, { Location: "/docs" }).end();
    else if (path === "/docs" && origin !== undefined && isOtherName(headers.host, origin))
      response.writeHead(302, { Location: `${origin}/docs` }).end();
    else if (path === "/docs") {
      const policy = "frame-ancestors 'none'";
      response.writeHead(200, { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy });
      response.end(html);
    } else if (path === "/docs/openapi.json") {
      response.writeHead(200, { "Content-Type": "application/json", "X-Content-Type-Options": "nosniff" });
      response.end(document.replaceAll(localServer, `http://${headers.host}`));
    } else if (path === "/docs/scalar.js") await sendFile(response, scalarFile, "text/javascript; charset=utf-8");
    else return false;
    return true;
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
