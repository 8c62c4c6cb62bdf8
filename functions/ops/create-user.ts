import { operatorFunction } from "../../lib/operators/operator-function.ts";
import { slugOf } from "../../lib/slug.ts";

/** Adds a user with these roles, or with the default role. */
export const handler = operatorFunction("ops/create-user", async ({ username, roles, by }, { change }) => {
  const { status, answer } = await change("create_user", { username, roles, slug: slugOf(username, "user"), by });
  if (status === 404) throw new Error("A role in `roles` does not exist");
  if (status === 409) throw new Error("The username is taken");
  return answer;
});
