import { randomUUID } from "node:crypto";
import { smoke } from "./smoke.ts";

/** A page of a list that every visitor may ask for. */
const page = { endpoint: "publishers/list", target: "/publishers?limit=1" };

/**
 * Asks one URL through a stage's edge as its visitors do, and once more past its cache, by a search that no visitor has
 * sent before. A response is wrong, too, when it is older than its `Cache-Control` allows while its origin responds: then
 * the edge conceals an outage (RFC 9111, "Serving Stale Responses"; RFC 5861).
 * @param url of the edge, with or without a slash at its end
 * @returns how old the response was that a visitor got, too, in seconds; 0 if the edge had just fetched it
 */
export async function smokeEdge(url: string) {
  const uncached = { ...page, target: `${page.target}&search=${randomUUID()}` };
  const results = await smoke(url, [page, uncached]);
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

/** How old a shared cache lets a response become while its origin responds. */
function ageMaxInSeconds(cacheControl: string): number {
  const secondsOf = (directive: string): number | undefined => {
    const [, seconds] = new RegExp(`(?:^|[\\s,])${directive}=(\\d+)`).exec(cacheControl) ?? [];
    return seconds === undefined ? undefined : Number(seconds);
  };
  return (secondsOf("s-maxage") ?? secondsOf("max-age") ?? 0) + (secondsOf("stale-while-revalidate") ?? 0);
}
