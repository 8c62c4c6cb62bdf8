import { type Declaration, isCacheable, isPublic, queryOf } from "../../lib/contract/declare.ts";
import { hasPages } from "./whole-lists.ts";

export type PublicRead = ReturnType<typeof publicReads>[number];

/**
 * The public reads among these endpoints, each path once, for shared caches: CloudFront (stacks/edge/edge.ts), and the
 * cache that tests put in front of the local gateway. Both forward all other requests with their parameters, cookies and
 * headers, and do not cache them.
 */
export const publicReads = (endpoints: readonly Declaration[]) =>
  endpoints
    .filter((each) => each.method === "GET" && isPublic(each))
    .map((each) => ({
      /** Its path as CloudFront writes patterns: `/contributor/slug/*`. */
      pattern: each.path.replace(/\{\w+\}/g, "*"),
      /**
       * The names of its declared query parameters, which are the cache key together with the origin of a panel. Other
       * parameters, cookies and headers are not sent to the origin: the responses are the same for all visitors and,
       * with `Access-Control-Allow-Origin: *`, for pages of all other sites.
       */
      parameters: Object.keys(queryOf(each)).sort(),
      /** Whether responses may be cached, for as long as their Cache-Control says. */
      isCached: isCacheable(each),
      /** Whether a request without a `limit` is sent to a path of its own (whole-lists.ts). */
      hasPages: hasPages(each),
    }));
