import { slugOf } from "../../lib/contract/slug.ts";
import { operatorFunction } from "../../lib/operators/operator-function.ts";
import { refusal } from "../../lib/operators/refusal.ts";
import { takenLink } from "../../lib/operators/taken-link.ts";

/** Adds a user with these roles, or with the default role, and says who they are for a provider of OpenID Connect. */
export const handler = operatorFunction("ops/create-user", async (input, { change }) => {
  const { username, roles, identity, email, by } = input;
  const slug = slugOf(username, "user");
  const link = email ? { issuer: email.issuer, email: email.address } : identity;
  const { status, result } = await change("create_user", { username, roles, slug, link, by });
  if (status === 404) throw refusal("A role in `roles` does not exist");
  if (status === 409) throw refusal(result === "username" ? "The username is taken" : takenLink(result));
  return result;
});
