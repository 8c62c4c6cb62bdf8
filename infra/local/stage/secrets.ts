import { randomBytes, scryptSync } from "node:crypto";
import { masterSecretArn, secretArn } from "../../aws-local/secrets-manager/arns.ts";
import { type Logins, masterSecret } from "../../aws-local/secrets-manager/secrets-manager.ts";
import { type DatabaseRole, forEachRole, limitedRoles } from "../../build/database-role.ts";

export const secretArns: Readonly<Record<DatabaseRole, string>> = {
  master: masterSecretArn,
  ...forEachRole((role) => secretArn(`colophon-${role}`)),
};

/** Of sign-in: the client's secret, which the provider knows, and the key that signs attempts. */
export const signInArns = { client: secretArn("colophon-sign-in-client"), key: secretArn("colophon-sign-in-key") };

/**
 * The secrets of a database; the master is the user of the server's URL. Roles belong to the whole server, so all
 * processes that use it need the same passwords for them: these are derived from the password in the URL, and random if
 * it has none. The migrations set them in the database.
 * @param known the password to derive from; default: the one in the URL
 */
export function newSecrets(databaseUrl: string, known = decodeURIComponent(new URL(databaseUrl).password)): Logins {
  const passwordOf = (role: string) =>
    (known === "" ? randomBytes(passwordBytes) : scryptSync(known, role, passwordBytes)).toString("base64url");
  const ofRoles = limitedRoles.map((role) => {
    const name = `colophon_${role}`;
    return [secretArns[role], { username: name, password: passwordOf(name) }] as const;
  });
  return { ...masterSecret(databaseUrl), ...Object.fromEntries(ofRoles) };
}

const passwordBytes = 24;

/** The secrets of sign-in. Attempts that began before them cannot be finished. */
export const newSignInSecrets = (): Record<string, string> =>
  Object.fromEntries(Object.values(signInArns).map((arn) => [arn, randomBytes(32).toString("base64url")]));
