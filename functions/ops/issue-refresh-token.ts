import { randomBytes } from "node:crypto";
import * as z from "zod/mini";
import { name } from "../../lib/contract/parameters.ts";
import { execute } from "../../lib/database/client.ts";
import { text } from "../../lib/database/read.ts";
import { operate } from "../../lib/operate.ts";
import * as access from "../../lib/queries/access.ts";
import { digestOf } from "../../lib/token.ts";

const tokenBytes = 32;
const daysMax = 365;

/** Opens a session for a user. The token is shown once; the database keeps only its hash. */
export const handler = operate(
  z.object({ username: name, days: z.int().check(z.minimum(1), z.maximum(daysMax)) }),
  async ({ username, days }) => {
    const refreshToken = randomBytes(tokenBytes).toString("base64url");
    const [session] = await execute(access.openSession(username, digestOf(refreshToken), days), false);
    if (!session) throw new Error("There is no such user");
    return { refreshToken, expires: text(session, 0) };
  },
);
