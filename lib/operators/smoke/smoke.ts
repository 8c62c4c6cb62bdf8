import { randomUUID } from "node:crypto";
import { needsCaller } from "../../contract/declare.ts";
import { endpointAt } from "../../contract/endpoints.ts";
import { expectedStatuses, finalResponse, problemOf } from "../../contract/expected-response.ts";
import type { OperatorPayload } from "../payloads.ts";

/** A GET that a smoke test sends. */
export type SmokeRequest = OperatorPayload<"ops/smoke">["requests"][number];

/** Without a response, `status` and `headers` are undefined; `expected` are the statuses that would have been right. */
export type SmokeResult = Awaited<ReturnType<typeof check>>;

interface Credentials {
  /** Of a session that may see everything; without one administrative endpoints must return 401. */
  readonly token?: string | undefined;
  /** The API key of a stage with an edge. */
  readonly key?: string | undefined;
}

/**
 * Sends requests to a running API, one after the other, and compares the responses with their declarations.
 * @param url of the API, with or without a slash at its end
 */
export async function smoke(
  url: string,
  requests: readonly SmokeRequest[],
  credentials: Credentials = {},
): Promise<SmokeResult[]> {
  const results: SmokeResult[] = [];
  for (const request of requests) results.push(await check(url.replace(/\/$/, ""), request, credentials));
  return results;
}

/** API Gateway waits for 29 s. */
const attemptTimeoutInMilliseconds = 35_000;
/** A paused database takes some 15 s to resume; after a long pause it takes up to a minute. */
const timeoutInMilliseconds = 60_000;

async function check(url: string, request: SmokeRequest, { token, key }: Credentials) {
  const declaration = endpointAt(request.endpoint);
  if (declaration?.method !== "GET") throw new TypeError(`There is no GET ${request.endpoint}`);
  const hasSession = token !== undefined && needsCaller(declaration);
  const expected = request.mustExist ? [200] : expectedStatuses(declaration, hasSession);
  const headers = {
    Accept: "application/json",
    ...(key !== undefined && { "x-api-key": key }),
    ...(hasSession && { Cookie: `refreshToken=${token}` }),
  };
  let started = 0;
  // Follows no redirect with the token.
  const send = async () => {
    started = performance.now();
    const signal = AbortSignal.timeout(attemptTimeoutInMilliseconds);
    const response = await fetch(url + request.target, { headers, redirect: "manual", signal });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const { problem, ...response } = await finalResponse(send, performance.now() + timeoutInMilliseconds).then(
    ({ text, ...response }) => ({ ...response, problem: problemOf(declaration, { ...response, text }, expected) }),
    (error) => ({ status: undefined, headers: undefined, problem: `no response: ${reasonOf(error)}` }),
  );
  const milliseconds = Math.round(performance.now() - started);
  // With a key the address is a secret, too, and an error of the network has it.
  const shown = key === undefined ? problem : problem?.replaceAll(new URL(url).hostname, "the API");
  return { ...request, ...response, milliseconds, expected, problem: shown };
}

/** `fetch` says only in the cause why a request failed. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message || cause.name : String(cause);
}

/** A page of a list that every visitor may ask for. */
const page = { endpoint: "publishers/list", target: "/publishers?limit=1" };

/**
 * Asks one URL through a stage's edge as its visitors do, and once more past its cache, by a search that no visitor has
 * sent before. A response is wrong, too, when it is older than its `Cache-Control` allows while its origin responds: then
 * the edge conceals an outage (RFC 9111, "Serving Stale Responses"; RFC 5861).
 * @returns how old the response was that a visitor got, too, in seconds; 0 if the edge had just fetched it
 */
export async function smokeEdge(url: string) {
  const results = await smoke(url, [page, { ...page, target: `${page.target}&search=${randomUUID()}` }]);
  const headers = results[0]?.headers;
  const ageInSeconds = Number(headers?.get("Age") ?? 0);
  const ageMax = ageMaxInSeconds(headers?.get("Cache-Control") ?? "");
  const tooOld = ageInSeconds > ageMax ? `${ageInSeconds} s old, of at most ${ageMax} s` : undefined;
  const throughEdge = results.map((each, index) => {
    const problem = each.problem ?? (index === 0 ? tooOld : undefined);
    return { ...each, problem: problem && `${problem} (through the edge)` };
  });
  return { results: throughEdge, ageInSeconds };
}

/** How old the edge lets a public response become while its origin responds. */
function ageMaxInSeconds(cacheControl: string): number {
  const directives = [...cacheControl.matchAll(/(?:s-maxage|stale-while-revalidate)=(\d+)/g)];
  return directives.reduce((sum, [, seconds]) => sum + Number(seconds), 0);
}
