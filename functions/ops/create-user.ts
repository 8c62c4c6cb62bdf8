import * as z from "zod/mini";
import { name } from "../../lib/contract/parameters.ts";
import { execute } from "../../lib/database/client.ts";
import { integer, text } from "../../lib/database/read.ts";
import { operate } from "../../lib/operate.ts";
import * as access from "../../lib/queries/access.ts";
import { slugOf } from "../../lib/slug.ts";

/** Adds a user with the named roles; without any, with the default role. */
export const handler = operate(
  z.object({ username: name, roles: z._default(z.array(name), []) }),
  async ({ username, roles }) => {
    const [user] = await execute(access.createUser(username, slugOf(username, "user"), roles), false);
    if (!user) throw new Error("A role in `roles` does not exist");
    return { id: integer(user, 0), username: text(user, 1), slug: text(user, 2) };
  },
);
