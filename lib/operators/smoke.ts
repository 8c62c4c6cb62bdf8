import { needsCaller } from "../contract/declare.ts";
import { endpointAt } from "../contract/endpoints.ts";
import { expectedStatuses, finalResponse, problemOf } from "./expected-response.ts";

/** A GET that a smoke test sends. */
export interface SmokeRequest {
  /** `contributor/slug` */
  readonly endpoint: string;
  /** Path and query: `/contributor/slug/naoki-urasawa`. */
  readonly target: string;
  /** Whether the record must be there, so that 404 is wrong. */
  readonly mustExist?: boolean | undefined;
}

export interface SmokeResult extends SmokeRequest {
  /** Undefined if there was no response. */
  readonly status: number | undefined;
  /** The statuses that would have been right. */
  readonly expected: readonly number[];
  readonly milliseconds: number;
  /** What is wrong with the response, if anything. */
  readonly problem: string | undefined;
  /** Undefined if there was no response. */
  readonly headers: Headers | undefined;
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
  const base = url.replace(/\/$/, "");
  const results: SmokeResult[] = [];
  for (const request of requests) results.push(await check(base, request, credentials));
  // With a key the address is a secret, too, and an error of the network has it.
  const { hostname } = new URL(url);
  return credentials.key === undefined
    ? results
    : results.map((each) => ({ ...each, problem: each.problem?.replaceAll(hostname, "the API") }));
}

interface Credentials {
  /** Of a session that may see everything; without one administrative endpoints must return 401. */
  readonly token?: string | undefined;
  /** The API key of a stage with an edge. */
  readonly key?: string | undefined;
}

async function check(url: string, request: SmokeRequest, { token, key }: Credentials): Promise<SmokeResult> {
  const declaration = endpointAt(request.endpoint);
  if (declaration?.method !== "GET") throw new TypeError(`There is no GET ${request.endpoint}`);
  const cookie = needsCaller(declaration) && token !== undefined ? { Cookie: `refreshToken=${token}` } : undefined;
  const expected = request.mustExist ? [200] : expectedStatuses(declaration, cookie !== undefined);
  const headers = { Accept: "application/json", ...(key === undefined ? {} : { "x-api-key": key }), ...cookie };
  let started = 0;
  const elapsed = () => Math.round(performance.now() - started);
  // Follows no redirect with the token.
  const send = async () => {
    started = performance.now();
    const signal = AbortSignal.timeout(attemptTimeoutInMilliseconds);
    const response = await fetch(url + request.target, { headers, redirect: "manual", signal });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, milliseconds: elapsed() };
  };
  try {
    const { text, ...response } = await finalResponse(send, performance.now() + timeoutInMilliseconds);
    const problem = problemOf(declaration, { status: response.status, text }, expected);
    return { ...request, ...response, expected, problem };
  } catch (error) {
    const problem = `no response: ${reasonOf(error)}`;
    return { ...request, status: undefined, headers: undefined, milliseconds: elapsed(), expected, problem };
  }
}

/** API Gateway waits for 29 s. */
const attemptTimeoutInMilliseconds = 35_000;
/** A paused database takes some 15 s to resume; after a long pause it takes up to a minute. */
const timeoutInMilliseconds = 60_000;

/** `fetch` says only in the cause why a request failed. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message || cause.name : String(cause);
}
