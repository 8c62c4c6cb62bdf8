import * as z from "zod/mini";
import { name } from "../../lib/contract/parameters.ts";
import { operate } from "../../lib/operators/operator-function.ts";
import { slugOf } from "../../lib/slug.ts";

/** Adds a user with the named roles; without any, with the default role. `by` tells the ledger who does it. */
export const handler = operate(
  "ops/create-user",
  z.object({ username: name, roles: z._default(z.array(name), []), by: z.optional(name) }),
  async ({ username, roles, by }, { change }) => {
    const { status, answer } = await change("create_user", { username, roles, slug: slugOf(username, "user"), by });
    if (status === 404) throw new Error("A role in `roles` does not exist");
    if (status === 409) throw new Error("The username is taken");
    return answer;
  },
);
