import type { Declaration } from "../lib/contract/declare.ts";

/**
 * A public read as a shared cache has to know it. CloudFront (stacks/edge/edge.ts) and the cache that the tests put before
 * the local gateway are both made of these. What is no public read passes through both, whole and never kept.
 */
export interface PublicRead {
  /** Its path as CloudFront writes patterns: `/contributor/slug/*`. */
  readonly pattern: string;
  /**
   * The query parameters of its declaration, by name. Each tells answers apart; others never reach the origin. Neither
   * does any cookie or header: the answers are the same for all visitors and, with `Access-Control-Allow-Origin: *`,
   * for pages of all sites.
   */
  readonly parameters: readonly string[];
  /** Whether answers may be kept, for as long as their Cache-Control says. */
  readonly isKept: boolean;
}

/** The public reads among these endpoints, each path once. */
export const publicReads = (endpoints: readonly Declaration[]): PublicRead[] =>
  endpoints
    .filter(({ method, permission }) => method === "GET" && !permission)
    .map(({ path, query = {}, volatile }) => ({
      pattern: path.replace(/\{\w+\}/g, "*"),
      parameters: Object.keys(query).sort(),
      isKept: !volatile,
    }));
