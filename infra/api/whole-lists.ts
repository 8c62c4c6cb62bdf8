import { asWhole, type Declaration, functionName, isPublic, wholeSegment } from "../../lib/contract/declare.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { pageLimitMax } from "../../lib/contract/parameters.ts";

/*
 * Whole lists of everybody, which have no `limit`, or one above 999: each may hold its environment for as long as its
 * reader takes. On a stage with an edge the edge sends them to paths of their own, so that pages are never behind them.
 */

/** The values of `limit` that make a page; one with more digits counts as a whole list. */
export const pageLimit = `0*[0-9]{1,${String(pageLimitMax).length}}`;

/**
 * A regular expression for the query of a page. Only a plain `limit` between `&` counts, not `LIMIT`, `l%69mit` or
 * `;limit`, so that nobody sees a limit that the function does not see.
 */
export const pageQuery = `(^|&)limit=${pageLimit}(&|$)`;

/** Whether it is a list that accepts `limit`. */
export const hasPages = ({ response, query }: Declaration): boolean =>
  "list" in response && query !== undefined && "limit" in query;

/** The paths of public lists for requests that want all: `/whole/contributors`. */
export const wholeLists = (endpoints: readonly Declaration[]): Declaration[] =>
  endpoints
    .filter((each) => isPublic(each) && hasPages(each))
    .map((each) => ({ ...asWhole(each), notCacheable: true }));

export const isWhole = ({ path }: Declaration): boolean => path.startsWith(`${wholeSegment}/`);

const bundles = new Map(endpoints.map((each) => [functionName(asWhole(each)), functionName(each)]));

/** The function whose code a function runs: `contributors-list` for `whole-contributors`, and else itself. */
export const bundleOf = (name: string): string => bundles.get(name) ?? name;
