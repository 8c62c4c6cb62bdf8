import { randomBytes, scryptSync } from "node:crypto";
import type { DatabaseRole } from "../../database-role.ts";

/** What a secret of the database holds. */
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

/** What AWS tells a migration. Any other function knows one secret, that of its role (lambda.ts). */
export const secretVariables = {
  DATABASE_SECRET_ARN: secretArns.master,
  DATABASE_PUBLIC_SECRET_ARN: secretArns.public,
  DATABASE_ADMIN_SECRET_ARN: secretArns.admin,
};

/**
 * The secrets of a database that migrations reach as whom its server's URL names. Roles are those of the whole server, so
 * all who use it have to agree on their passwords, which hold once the migrations have run: they follow from a password
 * that nobody else has, or nobody at all.
 * @param known by default the one in the URL
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
