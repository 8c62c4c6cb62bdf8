import { randomBytes, scryptSync } from "node:crypto";
import { type DatabaseRole, forEachRole, limitedRoles } from "../build/database-role.ts";

/** The content of a secret. */
export interface Credentials {
  readonly username: string;
  readonly password: string;
}

/** By ARN. */
export type Secrets = Readonly<Record<string, Credentials>>;

const arnOf = (name: string) => `arn:aws:secretsmanager:eu-central-1:123456789012:secret:${name}`;

export const secretArns: Readonly<Record<DatabaseRole, string>> = {
  master: arnOf("colophon"),
  ...forEachRole((role) => arnOf(`colophon-${role}`)),
};

/**
 * The secrets of a database; the master is the user of the server's URL. Roles belong to the whole server, so all
 * processes that use it need the same passwords for them: these are derived from the password in the URL, and random if
 * it has none. The migrations set them in the database.
 * @param known the password to derive from; default: the one in the URL
 */
export function newSecrets(databaseUrl: string, known = decodeURIComponent(new URL(databaseUrl).password)): Secrets {
  const { username, password } = new URL(databaseUrl);
  const passwordOf = (role: string) =>
    (known === "" ? randomBytes(passwordBytes) : scryptSync(known, role, passwordBytes)).toString("base64url");
  const ofRoles = limitedRoles.map((role) => {
    const name = `colophon_${role}`;
    return [secretArns[role], { username: name, password: passwordOf(name) }] as const;
  });
  return {
    [secretArns.master]: { username: decodeURIComponent(username), password: decodeURIComponent(password) },
    ...Object.fromEntries(ofRoles),
  };
}

const passwordBytes = 24;
