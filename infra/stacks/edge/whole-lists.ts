import type { CfnWebACL } from "aws-cdk-lib/aws-wafv2";
import type { Declaration } from "../../../lib/contract/declare.ts";

export type Statement = CfnWebACL.StatementProperty;

/** A list of more than so many digits is as much work as a whole one. */
const limitDigitsMax = 3;

/**
 * What asks for a whole list: the path of a list that takes `limit`, without a limit of at most 999. To get around it one
 * would have to send a limit that the firewall reads and the function does not; so only what is written plainly counts
 * (`LIMIT` or `l%69mit` is none), and of two, of which the function takes the last, none does.
 */
export function wholeLists(endpoints: readonly Declaration[]): Statement {
  const paths = endpoints
    .filter(({ answers, query }) => "list" in answers && query && "limit" in query)
    .map(({ path }) => path.slice(1).replace(/\{\w+\}/g, "[^/]+"));
  const isList = matches({ uriPath: {} }, `^(/[^/]+)?/(${paths.join("|")})/?$`, "NONE");
  const isLimited = matches({ queryString: {} }, `(^|[&;])limit=0*[0-9]{1,${limitDigitsMax}}($|[&;])`, "NONE");
  const isAmbiguous = matches({ queryString: {} }, "limit=.*limit=", "URL_DECODE");
  return {
    andStatement: {
      statements: [isList, { orStatement: { statements: [{ notStatement: { statement: isLimited } }, isAmbiguous] } }],
    },
  };
}

const matches = (
  fieldToMatch: CfnWebACL.FieldToMatchProperty,
  regexString: string,
  type: "NONE" | "URL_DECODE",
): Statement => ({
  regexMatchStatement: { fieldToMatch, regexString, textTransformations: [{ priority: 0, type }] },
});
