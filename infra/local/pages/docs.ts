import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { PageHandler } from "../../aws-local/api-gateway/server.ts";
import { referenceFiles } from "../../reference/files.ts";
import { type ReferenceOptions, referencePage, scalarFile } from "../../reference/page.ts";
import { compressions } from "./compression.ts";

/**
 * Serves the reference of the interface, where people can sign in and try requests. Who signs in comes back to `origin`,
 * and cookies belong to one host name, so the page is sent there from the others of this machine.
 */
export function docs(signIn: ReferenceOptions["signIn"], origin?: string): PageHandler {
  const base = "/docs/";
  const page = compressions(Buffer.from(referencePage({ base, signIn, api: "'self'" })));
  const script = compressions(readFileSync(scalarFile));
  return async (request, response) => {
    const { method, url = "", headers } = request;
    const path = method === "GET" ? url.replace(/\?.*$/s, "") : undefined;
    const send = (type: string, text: string) => sendFile(request, response, type, compressions(Buffer.from(text)));
    const filesOf = () => referenceFiles({ base, server: `http://${headers.host}` });
    if (path === "/" || path === base) response.writeHead(302, { Location: "/docs" }).end();
    else if (path === "/docs" && origin !== undefined && isOtherName(headers.host, origin))
      response.writeHead(302, { Location: `${origin}/docs` }).end();
    else if (path === "/docs") {
      response.setHeader("Content-Security-Policy", "frame-ancestors 'none'");
      await sendFile(request, response, "text/html; charset=utf-8", page);
    } else if (path === "/docs/openapi.json") await send("application/json", filesOf()["openapi.json"]);
    else if (path === "/docs/guide.md") await send("text/markdown; charset=utf-8", filesOf()["guide.md"]);
    else if (path === "/llms.txt") await send("text/plain; charset=utf-8", filesOf()["llms.txt"]);
    else if (path === "/docs/scalar.js") await sendFile(request, response, "text/javascript; charset=utf-8", script);
    else return false;
    return true;
  };
}

/** Another port may be that of a tunnel, behind which the origin is not. */
function isOtherName(host: string | undefined, origin: string): boolean {
  const [requested, served] = [URL.parse(`http://${host}`), new URL(origin)];
  return requested?.port === served.port && requested.hostname !== served.hostname;
}

async function sendFile(
  { headers }: IncomingMessage,
  response: ServerResponse,
  type: string,
  read: ReturnType<typeof compressions>,
): Promise<void> {
  const { encoding, content } = await read(headers["accept-encoding"]);
  response.writeHead(200, {
    "Content-Type": type,
    "Content-Length": content.length,
    ...(encoding && { "Content-Encoding": encoding }),
    Vary: "Accept-Encoding",
    "X-Content-Type-Options": "nosniff",
  });
  response.end(content);
}
