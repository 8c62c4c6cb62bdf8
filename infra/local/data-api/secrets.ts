import { randomBytes, scryptSync } from "node:crypto";
import type { DatabaseRole } from "../../database-role.ts";

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
  public: arnOf("colophon-public"),
  admin: arnOf("colophon-admin"),
};

/** The environment variables of a migration. Any other function has only the secret of its role (lambda.ts). */
export const secretVariables = {
  DATABASE_SECRET_ARN: secretArns.master,
  DATABASE_PUBLIC_SECRET_ARN: secretArns.public,
  DATABASE_ADMIN_SECRET_ARN: secretArns.admin,
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
  const ofRole = (role: string) => ({ username: role, password: passwordOf(role) });
  return {
    [secretArns.master]: { username: decodeURIComponent(username), password: decodeURIComponent(password) },
    [secretArns.public]: ofRole("colophon_public"),
    [secretArns.admin]: ofRole("colophon_admin"),
  };
}

const passwordBytes = 24;
