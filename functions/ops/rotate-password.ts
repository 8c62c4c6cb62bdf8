import { credentialsIn, newPassword, storePending } from "../../lib/migrations/passwords.ts";
import { changePassword, roleOf } from "../../lib/migrations/roles.ts";
import { operatorFunction } from "../../lib/operators/operator-function.ts";

/**
 * Gives a role of the database a new password, in the steps of Secrets Manager ("Rotation by Lambda function", "single
 * user"). The password changes in PostgreSQL and in the secret in one step, the last, so that they differ for
 * milliseconds. Every step can be repeated.
 */
export const handler = operatorFunction("ops/rotate-password", async ({ Step, SecretId, ClientRequestToken }) => {
  if (Step === "createSecret") {
    const { name: username } = roleOf(await credentialsIn(SecretId));
    await storePending(SecretId, ClientRequestToken, { username, password: newPassword() });
  }
  if (Step === "finishSecret") await changePassword(SecretId, ClientRequestToken);
  return {};
});
