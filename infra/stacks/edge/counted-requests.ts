import type { CfnWebACL } from "aws-cdk-lib/aws-wafv2";
import { type Declaration, isNavigation } from "../../../lib/contract/declare.ts";
import { hasPages, pageQuery } from "../../api/whole-lists.ts";

export type Statement = CfnWebACL.StatementProperty;

/** One statement, or several joined by AND. */
export function allOf([first, ...others]: readonly Statement[]): Statement {
  if (!first) throw new Error("There is nothing to match");
  return others.length > 0 ? { andStatement: { statements: [first, ...others] } } : first;
}

export const not = (statement: Statement): Statement => ({ notStatement: { statement } });

/**
 * Matches requests for a whole list: the path of a list that accepts `limit`, without a limit of at most 999. The
 * firewall must never see a limit that the function does not see; of several limits none counts for the function, which
 * returns 400.
 */
export function unlimitedLists(endpoints: readonly Declaration[]): Statement {
  const isLimited = matches({ queryString: {} }, pageQuery, ["NONE"]);
  return allOf([requestsFor(endpoints.filter(hasPages)), not(isLimited)]);
}

/** Matches requests to sign in; undefined if none of these endpoints is for that. */
export function signIns(endpoints: readonly Declaration[]): Statement | undefined {
  const navigations = endpoints.filter(isNavigation);
  return navigations.length > 0 ? requestsFor(navigations) : undefined;
}

/**
 * Matches bodies of 1.2 MB or more that are not images, whose functions take at most 1 MB. WAF sees 64 KB of a body at
 * most, so this reads the length that the client states (AWS WAF, "Oversize web request components").
 */
export function largeBodies(endpoints: readonly Declaration[]): Statement {
  const large = matches({ singleHeader: { Name: "content-length" } }, "^(1[2-9][0-9]{5}|[2-9][0-9]{6}|[0-9]{8,})$", [
    "NONE",
  ]);
  const images = endpoints.filter(({ needsFileService }) => needsFileService);
  return allOf([large, ...(images.length > 0 ? [not(requestsFor(images))] : [])]);
}

/** Under API Gateway's own domain the paths begin with the stage's name. */
function requestsFor(endpoints: readonly Declaration[]): Statement {
  const paths = endpoints.map(({ path }) => path.slice(1).replace(/\{\w+\}/g, "[^/]+"));
  return matches({ uriPath: {} }, `^(/[^/]+)?/(${paths.join("|")})/?$`, normalized);
}

/** CloudFront normalizes a path before it looks for the path's behavior: `/./%63ontributors` is a list, too. */
const normalized = ["URL_DECODE", "NORMALIZE_PATH"];

const matches = (
  fieldToMatch: CfnWebACL.FieldToMatchProperty,
  regexString: string,
  transformations: readonly string[],
): Statement => ({
  regexMatchStatement: {
    fieldToMatch,
    regexString,
    textTransformations: transformations.map((type, priority) => ({ priority, type })),
  },
});
