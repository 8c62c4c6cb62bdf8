import { randomUUID } from "node:crypto";
import { type SmokeResult, smoke } from "./smoke.ts";

/** A page of a list that every visitor may ask for. */
const page = { endpoint: "publishers/list", target: "/publishers?limit=1" };

export interface EdgeResult {
  readonly results: readonly SmokeResult[];
  /** How old the response was that a visitor got, in seconds; 0 if the edge had just fetched it. */
  readonly ageInSeconds: number;
}

/**
 * Asks one URL through a stage's edge as its visitors do, and once more past its cache, by a search that no visitor has
 * sent before. A response is wrong, too, when it is older than its `Cache-Control` allows while its origin responds: then
 * the edge conceals an outage (RFC 9111, "Serving Stale Responses"; RFC 5861).
 * @param url of the edge, with or without a slash at its end
 */
export async function smokeEdge(url: string): Promise<EdgeResult> {
  const uncached = { ...page, target: `${page.target}&search=${randomUUID()}` };
  const [cached, ...others] = (await smoke(url, [page, uncached])).map((each) => ({
    ...each,
    problem: each.problem && `${each.problem} (through the edge)`,
  }));
  const ageInSeconds = Number(cached?.headers?.get("Age") ?? 0);
  const ageMax = ageMaxInSeconds(cached?.headers?.get("Cache-Control") ?? "");
  const isTooOld = cached?.problem === undefined && ageInSeconds > ageMax;
  const problem = isTooOld ? `${ageInSeconds} s old, of at most ${ageMax} s (through the edge)` : cached?.problem;
  return { results: [...(cached ? [{ ...cached, problem }] : []), ...others], ageInSeconds };
}

/** How old a shared cache lets a response become while its origin responds. */
function ageMaxInSeconds(cacheControl: string): number {
  const secondsOf = (directive: string): number | undefined => {
    const [, seconds] = new RegExp(`(?:^|[\\s,])${directive}=(\\d+)`).exec(cacheControl) ?? [];
    return seconds === undefined ? undefined : Number(seconds);
  };
  return (secondsOf("s-maxage") ?? secondsOf("max-age") ?? 0) + (secondsOf("stale-while-revalidate") ?? 0);
}
