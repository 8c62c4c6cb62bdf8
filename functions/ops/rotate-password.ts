import {
  credentialsIn,
  makeCurrent,
  newPassword,
  storePending,
  undefinedIfMissing,
} from "../../lib/migrations/passwords.ts";
import { otherLogin, setPassword, tryLogin } from "../../lib/migrations/roles.ts";
import { operatorFunction } from "../../lib/operators/operator-function.ts";

/**
 * Gives a database role another login with a new password, in the steps of Secrets Manager ("Rotation by Lambda
 * function", "Alternating users"). A role has two logins in turn. The one that functions use keeps its password, so they
 * go on whichever step fails, and whenever the Data API reads the secret anew. Every step can be repeated.
 */
export const handler = operatorFunction(
  "ops/rotate-password",
  async ({ Step, SecretId, ClientRequestToken }, { deadline }) => {
    const pending = () => credentialsIn(SecretId, ClientRequestToken);
    if (Step === "createSecret") {
      const { username } = await credentialsIn(SecretId);
      const credentials = { username: otherLogin(username), password: newPassword() };
      await storePending(SecretId, ClientRequestToken, credentials);
    }
    if (Step === "setSecret") await setPassword(await pending(), await credentialsIn(SecretId));
    if (Step === "testSecret") {
      // When a schedule is set up, Secrets Manager runs this step alone, and does not say whether the version has a value.
      const credentials = await pending().catch(undefinedIfMissing);
      if (credentials) await tryLogin(credentials, deadline);
    }
    if (Step === "finishSecret") await makeCurrent(SecretId, ClientRequestToken);
    return {};
  },
);
