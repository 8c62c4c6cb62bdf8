import * as z from "zod/mini";
import { credentialsIn, keepForLater, makeCurrent, newPassword } from "../../lib/database/passwords.ts";
import { setPassword } from "../../lib/database/roles.ts";
import { operate } from "../../lib/operators/operator-function.ts";

/**
 * Gives a role of the database another password, step by step, as Secrets Manager asks for it ("Rotation by Lambda
 * function"). The Data API only takes the password that is current. So the new one is set in the last step, just before
 * it becomes that, and cannot be tried earlier; whoever logs in between the two waits and tries again.
 */
export const handler = operate(
  "ops/rotate-password",
  z.object({
    Step: z.enum(["createSecret", "setSecret", "testSecret", "finishSecret"]),
    SecretId: z.string(),
    ClientRequestToken: z.string(),
  }),
  async ({ Step, SecretId, ClientRequestToken }) => {
    if (Step === "createSecret") {
      const { username } = await credentialsIn(SecretId);
      await keepForLater(SecretId, ClientRequestToken, { username, password: newPassword() });
    }
    if (Step === "finishSecret") {
      await setPassword(await credentialsIn(SecretId, ClientRequestToken));
      await makeCurrent(SecretId, ClientRequestToken);
    }
    return {};
  },
);
