import sql, { raw } from "sql-template-tag";
import { deadlineFromNow, operatorTimeouts, retry } from "../aws/retry.ts";
import { database, execute, isLoginRefused, isTransient, send as sendOnce, sqlStateOf } from "../data-api/client.ts";
import type { Send } from "../data-api/transaction.ts";
import { withMigrationLock } from "./migration-lock.ts";
import { type Credentials, credentialsIn, makeCurrent, verifierOf } from "./passwords.ts";
import settings from "./roles.sql";
import { runScript } from "./script.ts";

/**
 * The roles that functions log in as, and the secrets with their passwords. Only migrations run as the master user. The
 * variables stand here by their names: a deployment gives a function those that its sources name (infra/build/package.ts).
 */
const roles = [
  { name: "colophon_public", secret: process.env.DATABASE_PUBLIC_SECRET_ARN },
  { name: "colophon_reader", secret: process.env.DATABASE_READER_SECRET_ARN },
  { name: "colophon_editor", secret: process.env.DATABASE_EDITOR_SECRET_ARN },
  { name: "colophon_operator", secret: process.env.DATABASE_OPERATOR_SECRET_ARN },
  { name: "colophon_signer", secret: process.env.DATABASE_SIGNER_SECRET_ARN },
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
    await withMigrationLock(createRoles);
    for (const role of roles) await withMigrationLock((send) => ensurePassword(role, setsPasswords, send));
  } catch (error) {
    throw sqlStateOf(error) === insufficientPrivilege ? new Error(cannotMakeRoles, { cause: error }) : error;
  }
}

const insufficientPrivilege = "42501";
const cannotMakeRoles = `The database's user may not make the roles ${roleNames.join(", ")}: give it \
createrole, and if they are there already, all of them with admin option`;

/** Creates missing roles, which cannot log in yet, and gives all of them their settings. */
async function createRoles(send: Send): Promise<void> {
  for (const role of roles) {
    const [found] = await send(sql`select 1 from pg_roles where rolname = ${role.name}::text`);
    if (!found) await send(raw(`create role ${role.name}`));
    await lock(role, send);
  }
  await runScript({ path: "lib/migrations/roles.sql", text: settings }, send);
}

/** Locks a role, so that migrations of other databases of the server wait. */
async function lock({ name }: Role, send: Send): Promise<void> {
  await send(
    raw(`comment on role ${name} is 'A login of Colophon (lib/migrations/README.md, "Roles of the database")'`),
  );
}

/** A role that can log in has a password, which another service may be using. */
async function ensurePassword(role: Role, setsPasswords: boolean, send: Send): Promise<void> {
  await lock(role, send);
  const credentials = await credentialsIn(role.secret);
  if (roleOf(credentials) !== role) throw new Error(noRole(credentials.username));
  const [login] = await send(sql`select 1 from pg_roles where rolname = ${role.name}::text and rolcanlogin`);
  if (login && (await logsIn(role.secret))) return;
  if (login && !setsPasswords) throw new Error(otherPassword(role));
  await writePassword(credentials, send);
}

const otherPassword = ({ name }: Role) => `The role ${name} has another password than its secret. Roles \
belong to all databases of a server, so another service may be using it. To set the secret's password nevertheless, \
invoke ops-migrate with {"setPasswords": true}, or start the local service with --set-passwords`;

/** A statement that any role may run, to see whether the Data API can log in with a secret. */
const trial = sql`select session_user::text`;
const loginOf = (secretArn: string | undefined) => ({ ...database, secretArn });

/** Whether PostgreSQL accepts the login of a secret. The Data API tries: nothing else connects to the database. */
async function logsIn(secretArn: string | undefined): Promise<boolean> {
  const mayPass = (error: unknown) => isTransient(error) && !isLoginRefused(error);
  try {
    await retry((options) => sendOnce(trial, options, loginOf(secretArn)), mayPass, deadlineFromNow());
    return true;
  } catch (error) {
    if (isLoginRefused(error)) return false;
    throw error;
  }
}

/** @throws if the service has no such role */
export function roleOf({ username }: Credentials): Role {
  const role = roles.find(({ name }) => name === username);
  if (!role) throw new Error(noRole(username));
  return role;
}

const noRole = (name: string) => `The service has no role ${name}`;

async function writePassword({ username, password }: Credentials, send: Send): Promise<void> {
  await send(raw(`alter role ${username} login password '${verifierOf(password)}'`));
}

/**
 * Gives a role the password of a version of its secret, and makes this version current just before the commit. Open
 * connections go on. PostgreSQL refuses a new connection during the milliseconds between the two, and the Data API's
 * caller sends it again. If a step fails, PostgreSQL keeps the old password; if it fails after the promotion, it is
 * done again at once.
 * @throws if the Data API cannot log in with the secret afterwards
 */
export async function changePassword(secretArn: string, version: string): Promise<void> {
  const credentials = await credentialsIn(secretArn, version);
  const role = roleOf(credentials);
  const change = () =>
    withMigrationLock(async (send) => {
      await lock(role, send);
      await writePassword(credentials, send);
      await makeCurrent(secretArn, version);
    });
  await retry(change, isTransient, deadlineFromNow(operatorTimeouts));
  await execute(trial, deadlineFromNow(), loginOf(secretArn));
}
