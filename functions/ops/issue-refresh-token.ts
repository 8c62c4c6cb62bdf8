import { digestOf, newToken } from "../../lib/http/token.ts";
import { operatorFunction } from "../../lib/operators/operator-function.ts";

/**
 * Opens a session for a user. The token is returned once; the database keeps only its hash. Lambda does not say who
 * invokes a function: the ledger has the name that the operator gives in `by`, and CloudTrail the real caller.
 */
export const handler = operatorFunction("ops/issue-refresh-token", async ({ username, days, by }, { change }) => {
  const refreshToken = newToken();
  const { result } = await change("open_session", { username, days, by }, digestOf(refreshToken));
  return { refreshToken, expires: new Date(String(result)).toISOString() };
});
