import { type ClientOptions, type Colophon, createClient } from "../../lib/client/index.js";
import { panelOrigin } from "./environment.ts";

type Fetch = NonNullable<ClientOptions["fetch"]>;

/** The client in a page of the panel, in the browser of the user of this refresh token, or of a visitor. */
export const clientFor = (
  stack: { readonly url: string },
  person?: { readonly token: string },
  { fetch: send = fetch, ...options }: ClientOptions = {},
): Colophon => createClient(stack.url, { ...options, fetch: fetchInPanel(send, person?.token) });

/**
 * As browsers send requests to another origin (Fetch Standard, "CORS protocol"): the cookie goes along only if the
 * request includes credentials, and the page reads only what the response exposes to it.
 */
const fetchInPanel =
  (send: Fetch, token = ""): Fetch =>
  async (url, init) => {
    const withCookie = init.credentials === "include";
    const headers = new Headers(init.headers);
    headers.set("Origin", panelOrigin);
    if (withCookie) headers.set("Cookie", `refreshToken=${token}`);
    const response = await send(url, { ...init, headers });
    const origin = response.headers.get("Access-Control-Allow-Origin");
    const isReadable = origin === panelOrigin || (origin === "*" && !withCookie);
    if (!isReadable || (withCookie && response.headers.get("Access-Control-Allow-Credentials") !== "true"))
      throw new TypeError("Failed to fetch");
    const exposed = response.headers.get("Access-Control-Expose-Headers")?.toLowerCase().split(", ") ?? [];
    const readable = [...response.headers].filter(([name]) => ["content-type", ...exposed].includes(name));
    return new Response(response.body, { status: response.status, headers: readable });
  };

/** The headers by which API Gateway lets the panel read its own errors. */
const readable = {
  "Access-Control-Allow-Origin": panelOrigin,
  "Access-Control-Allow-Credentials": "true",
  "Access-Control-Expose-Headers": "Retry-After",
};

/** An error of the gateway. */
export const refusal = (status: number, headers: Readonly<Record<string, string>> = {}): Response =>
  Response.json({ data: `Error ${status}`, code: status }, { status, headers: { ...readable, ...headers } });
