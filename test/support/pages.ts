import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";

const emptyPage: RequestListener = (_, response) =>
  response.writeHead(200, { "Content-Type": "text/html" }).end("<!doctype html><title>Page</title>");

/** Serves an empty page on a port of its own, or what the listener responses. */
export async function servePages(listener: RequestListener = emptyPage): Promise<{ server: Server; port: number }> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, port: (server.address() as AddressInfo).port };
}

export interface Init {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly credentials?: "include" | "omit";
  readonly mode?: "cors" | "no-cors";
}

/** Calls `fetch` in the page. Returns what the script can read, or the error's name if the browser blocks it. */
export const fetchFrom = (page: Page, url: string, init: Init = {}) =>
  page.evaluate(
    async ([target, options]) => {
      try {
        const response = await fetch(target, { credentials: "include", ...options });
        const location = response.headers.get("Location");
        return { status: response.status, body: await response.json(), ...(location === null ? {} : { location }) };
      } catch (error) {
        return { error: (error as Error).name };
      }
    },
    [url, init] as const,
  );

/** A change as a panel sends it. */
export const post = (body: unknown, type = "application/json"): Init => ({
  method: "POST",
  headers: { "Content-Type": type },
  body: JSON.stringify(body),
});
