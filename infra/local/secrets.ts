import { randomBytes } from "node:crypto";
import type { DatabaseRole } from "../database-role.ts";

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
 * The secrets of a database that migrations reach as whom its server's URL names. The other passwords are made anew, and
 * hold once the migrations have run.
 */
export function newSecrets(databaseUrl: string): Secrets {
  const { username, password } = new URL(databaseUrl);
  const anew = () => randomBytes(24).toString("base64url");
  return {
    [secretArns.master]: { username: decodeURIComponent(username), password: decodeURIComponent(password) },
    [secretArns.public]: { username: "colophon_public", password: anew() },
    [secretArns.admin]: { username: "colophon_admin", password: anew() },
  };
}
