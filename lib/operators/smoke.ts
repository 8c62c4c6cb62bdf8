import { setTimeout as sleep } from "node:timers/promises";
import { needsCaller } from "../contract/declare.ts";
import { endpointAt } from "../contract/endpoints.ts";
import { expectedStatuses, pauseBeforeRetry, problemOf } from "./expected-response.ts";

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
  /** Undefined if there was no answer. */
  readonly status: number | undefined;
  /** The statuses that would have been right. */
  readonly expected: readonly number[];
  readonly milliseconds: number;
  /** What is wrong with the answer, if anything. */
  readonly problem: string | undefined;
  /** Undefined if there was no answer. */
  readonly headers: Headers | undefined;
}

/**
 * Sends requests to a running API, one after the other, and compares the answers with their declarations.
 * @param url of the API, with or without a slash at its end
 */
export async function smoke(
  url: string,
  requests: readonly SmokeRequest[],
  { token, key }: Credentials = {},
): Promise<SmokeResult[]> {
  const base = url.replace(/\/$/, "");
  const results: SmokeResult[] = [];
  for (const request of requests) results.push(await check(base, request, { token, key }));
  // With a key the address is a secret, too, and an error of the network has it.
  const { hostname } = new URL(url);
  return key === undefined
    ? results
    : results.map((each) => ({ ...each, problem: each.problem?.replaceAll(hostname, "the API") }));
}

interface Credentials {
  /** Of a session that may see everything; without one administrative endpoints must answer 401. */
  readonly token?: string | undefined;
  /** The API key of a stage with an edge. */
  readonly key?: string | undefined;
}

async function check(url: string, request: SmokeRequest, { token, key }: Credentials): Promise<SmokeResult> {
  const declaration = endpointAt(request.endpoint);
  if (declaration?.method !== "GET") throw new TypeError(`There is no GET ${request.endpoint}`);
  const cookie = needsCaller(declaration) && token !== undefined ? { Cookie: `refreshToken=${token}` } : undefined;
  const expected = request.mustExist ? [200] : expectedStatuses(declaration, cookie !== undefined);
  const { status, text, milliseconds, headers } = await get(url + request.target, {
    Accept: "application/json",
    ...(key === undefined ? {} : { "x-api-key": key }),
    ...cookie,
  });
  const problem = status === undefined ? text : problemOf(declaration, { status, text }, expected);
  return { ...request, status, expected, milliseconds, problem, headers };
}

interface SmokeResponse {
  readonly status: number | undefined;
  /** The body, or why there is no answer. */
  readonly text: string;
  readonly milliseconds: number;
  readonly headers: Headers | undefined;
}

/** API Gateway waits for 29 s. */
const attemptTimeoutInMilliseconds = 35_000;
/** A paused database takes some 15 s to resume; after a long pause it takes up to a minute. */
const timeoutInMilliseconds = 60_000;

/** Sends again after `Retry-After`, as long as a database may take to resume. Follows no redirect with the token. */
async function get(url: string, headers: Readonly<Record<string, string>>): Promise<SmokeResponse> {
  const deadline = performance.now() + timeoutInMilliseconds;
  for (;;) {
    const started = performance.now();
    const elapsed = () => Math.round(performance.now() - started);
    try {
      const signal = AbortSignal.timeout(attemptTimeoutInMilliseconds);
      const response = await fetch(url, { headers, redirect: "manual", signal });
      const text = await response.text();
      const pause = pauseBeforeRetry(response.status, response.headers.get("Retry-After"), deadline);
      if (pause === undefined) {
        return { status: response.status, text, milliseconds: elapsed(), headers: response.headers };
      }
      await sleep(pause);
    } catch (error) {
      return { status: undefined, text: `no answer: ${reasonOf(error)}`, milliseconds: elapsed(), headers: undefined };
    }
  }
}

/** `fetch` says only in the cause why a request failed. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message || cause.name : String(cause);
}
