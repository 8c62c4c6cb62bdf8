import { operatorFunction } from "../../lib/operators/operator-function.ts";
import { refusal } from "../../lib/operators/refusal.ts";
import { takenLink } from "../../lib/operators/taken-link.ts";

/**
 * Says who a user is for a provider of OpenID Connect, by the subject or by an e-mail address that is awaited, or takes
 * that back. The result has all links of the user, as they are afterwards.
 */
export const handler = operatorFunction("ops/link-identity", async (input, { change }) => {
  const { issuer, subject, email, ...rest } = input;
  const { status, result } = await change("link_identity", { ...rest, link: { issuer, subject, email } });
  if (status === 404) {
    throw refusal(result === "username" ? "There is no such user" : "The user has no such link");
  }
  if (status === 409) throw refusal(takenLink(result));
  return result;
});
