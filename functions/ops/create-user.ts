import * as z from "zod/mini";
import { name } from "../../lib/contract/parameters.ts";
import { operatorFunction } from "../../lib/operators/operator-function.ts";
import { slugOf } from "../../lib/slug.ts";

/** Adds a user with these roles, or with the default role. `by` is the operator's name for the ledger. */
export const handler = operatorFunction(
  "ops/create-user",
  z.object({ username: name, roles: z._default(z.array(name), []), by: z.optional(name) }),
  async ({ username, roles, by }, { change }) => {
    const { status, answer } = await change("create_user", { username, roles, slug: slugOf(username, "user"), by });
    if (status === 404) throw new Error("A role in `roles` does not exist");
    if (status === 409) throw new Error("The username is taken");
    return answer;
  },
);
