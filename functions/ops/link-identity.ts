import { operatorFunction } from "../../lib/operators/operator-function.ts";

/**
 * Says who a user is for a provider of OpenID Connect, by the subject or by an e-mail address that is awaited, or takes
 * that back. The result has all links of the user, as they are afterwards.
 */
export const handler = operatorFunction("ops/link-identity", async (input, { change }) => {
  const { issuer, subject, email, ...rest } = input;
  const { result } = await change("link_identity", { ...rest, link: { issuer, subject, email } });
  return result;
});
