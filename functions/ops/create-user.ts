import { slugOf } from "../../lib/contract/slug.ts";
import { operatorFunction } from "../../lib/operators/operator-function.ts";

/** Adds a user with these roles, or with the default role, and says who they are for a provider of OpenID Connect. */
export const handler = operatorFunction("ops/create-user", async (input, { change }) => {
  const { username, roles, identity, email, by } = input;
  const slug = slugOf([username], "user");
  const link = email ? { issuer: email.issuer, email: email.address } : identity;
  const { result } = await change("create_user", { username, roles, slug, link, by });
  return result;
});
