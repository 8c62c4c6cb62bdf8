import { type ClientOptions, type Colophon, createClient } from "../../lib/client/index.js";

/** The client of somebody with this refresh token, or of a visitor. */
export const clientFor = (
  stack: { readonly url: string },
  person?: { readonly token: string },
  options: ClientOptions = {},
): Colophon =>
  createClient(stack.url, { headers: person ? { Cookie: `refreshToken=${person.token}` } : {}, ...options });

/** What happens to a request: it gets lost, its answer gets lost or breaks off, or somebody else answers. */
export type Fault = "request lost" | "answer lost" | "answer broken off" | Response;

/** A network on which the first requests meet these faults, and all others nothing. `sent` are the requests. */
export function faultyNetwork(...faults: readonly Fault[]) {
  const sent: RequestInit[] = [];
  const network = async (url: string, init: RequestInit): Promise<Response> => {
    init.signal?.throwIfAborted();
    const fault = faults[sent.push(init) - 1];
    if (fault instanceof Response) return fault;
    if (fault === "request lost") throw new TypeError("fetch failed");
    const response = await fetch(url, init);
    if (fault === "answer lost") throw new TypeError("fetch failed");
    return fault === "answer broken off" ? new Response(brokenOff(), response) : response;
  };
  return { sent, fetch: network };
}

const brokenOff = () =>
  new ReadableStream({
    pull(controller) {
      controller.error(new TypeError("terminated"));
    },
  });

/** An error as the gateway answers it. */
export const refusal = (status: number, headers: Readonly<Record<string, string>> = {}): Response =>
  Response.json({ data: `Error ${status}`, code: status }, { status, headers });

/** The value of a header of a request. */
export const headerOf = (request: RequestInit | undefined, name: string): string | null =>
  new Headers(request?.headers).get(name);
