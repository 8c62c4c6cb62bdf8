import { ExecuteStatementCommand } from "@aws-sdk/client-rds-data";
import sql, { raw } from "sql-template-tag";
import { client, database, isTransient } from "../data-api/client.ts";
import { isLoginRefused, sqlStateOf } from "../data-api/errors.ts";
import type { Send } from "../data-api/transaction.ts";
import { deadlineFromNow, retry } from "../retry.ts";
import { withMigrationLock } from "./migration-lock.ts";
import { type Credentials, credentialsIn, verifierOf } from "./passwords.ts";
import settings from "./roles.sql";
import { runScript } from "./script.ts";

/** The roles that functions log in as, and the secrets with their passwords. Only migrations run as the master user. */
const roles = [
  {
    name: "colophon_public",
    purpose: "Reads the catalogue",
    secret: process.env.DATABASE_PUBLIC_SECRET_ARN,
  },
  {
    name: "colophon_reader",
    purpose: "Reads what administration shows",
    secret: process.env.DATABASE_READER_SECRET_ARN,
  },
  {
    name: "colophon_editor",
    purpose: "Makes changes for the user of a session, and reads nothing",
    secret: process.env.DATABASE_EDITOR_SECRET_ARN,
  },
  {
    name: "colophon_operator",
    purpose: "Makes changes for operators, and reads the ledger",
    secret: process.env.DATABASE_OPERATOR_SECRET_ARN,
  },
] as const;

type Role = (typeof roles)[number];

export const roleNames: readonly string[] = roles.map(({ name }) => name);

/**
 * Creates missing roles, with the passwords that are in their secrets, and gives all of them their settings. Roles belong
 * to all databases of a server. So the password of a role that exists already may be in use by another service, and is
 * left as it is.
 * @param setsPasswords sets the password of a role whose secret has another one
 * @throws when a role has another password than its secret, unless passwords are to be set
 */
export async function makeRoles(setsPasswords: boolean): Promise<void> {
  try {
    const existing = await withMigrationLock(createRoles);
    for (const role of existing) await withMigrationLock((send) => checkPassword(role, setsPasswords, send));
  } catch (error) {
    throw sqlStateOf(error) === insufficientPrivilege ? new Error(cannotMakeRoles, { cause: error }) : error;
  }
}

const insufficientPrivilege = "42501";
const cannotMakeRoles = `The database's user may not make the roles ${roleNames.join(", ")}: give it \
createrole, and if they are there already, all of them with admin option`;

/** @returns the roles that existed before */
async function createRoles(send: Send): Promise<readonly Role[]> {
  const existing: Role[] = [];
  for (const role of roles) {
    const [found] = await send(sql`select 1 from pg_roles where rolname = ${role.name}::text`);
    if (found) existing.push(role);
    else await send(raw(`create role ${role.name}`));
    await lock(role, send);
    if (!found) await writePassword(role, await credentialsOf(role), send);
  }
  await runScript({ path: "lib/migrations/roles.sql", text: settings }, send);
  return existing;
}

/** Locks a role, so that migrations of other databases of the server wait. */
async function lock({ name, purpose }: Role, send: Send): Promise<void> {
  await send(raw(`comment on role ${name} is '${purpose}'`));
}

async function checkPassword(role: Role, setsPasswords: boolean, send: Send): Promise<void> {
  const credentials = await credentialsOf(role);
  if (await logsIn(role)) return;
  if (!setsPasswords) throw new Error(otherPassword(role));
  await lock(role, send);
  await writePassword(role, credentials, send);
}

const otherPassword = ({ name }: Role) => `The role ${name} has another password than its secret. Roles belong to all \
databases of a server, so another service may be using it. To set the secret's password nevertheless, invoke \
ops-migrate with {"setPasswords": true}, or start the local service with --set-passwords`;

/** Whether a role can log in with its secret. The Data API tries: nothing else connects to the database. */
async function logsIn({ secret }: Role): Promise<boolean> {
  const command = new ExecuteStatementCommand({ ...database, secretArn: secret, sql: "select 1" });
  const mayPass = (error: unknown) => isTransient(error) && !isLoginRefused(error);
  try {
    await retry((options) => client.send(command, options), mayPass, deadlineFromNow());
    return true;
  } catch (error) {
    if (isLoginRefused(error)) return false;
    throw error;
  }
}

/** The credentials in a role's secret. Another role gets no password, whatever a secret says. */
async function credentialsOf({ name, secret }: Role): Promise<Credentials> {
  const credentials = await credentialsIn(secret);
  if (credentials.username !== name) throw new Error(noRole(credentials.username));
  return credentials;
}

const noRole = (name: string) => `The service has no role ${name}`;

async function writePassword({ name }: Role, { password }: Credentials, send: Send): Promise<void> {
  await send(raw(`alter role ${name} login password '${verifierOf(password)}'`));
}

/**
 * Gives a role a new password. No migration runs meanwhile, so none finds the role and its secret disagree.
 * @param store makes the password the current one of the secret
 */
export async function changePassword(credentials: Credentials, store: () => Promise<void>): Promise<void> {
  const role = roles.find(({ name }) => name === credentials.username);
  if (!role) throw new Error(noRole(credentials.username));
  await withMigrationLock(async (send) => {
    await lock(role, send);
    await writePassword(role, credentials, send);
    await store();
  });
}
