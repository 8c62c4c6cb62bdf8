import * as z from "zod/mini";
import { credentialsIn, makeCurrent, newPassword, storePending } from "../../lib/migrations/passwords.ts";
import { changePassword } from "../../lib/migrations/roles.ts";
import { operatorFunction } from "../../lib/operators/operator-function.ts";

/**
 * Gives a database role a new password, in the steps of Secrets Manager ("Rotation by Lambda function"). The Data API
 * accepts only the current version of a secret. So the last step sets the new password, just after its version becomes
 * current, and no earlier step can test it; a statement that fails to log in between the two is sent again.
 */
export const handler = operatorFunction(
  "ops/rotate-password",
  z.object({
    Step: z.enum(["createSecret", "setSecret", "testSecret", "finishSecret"]),
    SecretId: z.string(),
    ClientRequestToken: z.string(),
  }),
  async ({ Step, SecretId, ClientRequestToken }) => {
    if (Step === "createSecret") {
      const { username } = await credentialsIn(SecretId);
      await storePending(SecretId, ClientRequestToken, { username, password: newPassword() });
    }
    if (Step === "finishSecret") {
      const credentials = await credentialsIn(SecretId, ClientRequestToken);
      await changePassword(credentials, () => makeCurrent(SecretId, ClientRequestToken));
    }
    return {};
  },
);
