import { setTimeout as sleep } from "node:timers/promises";
import { ExecuteStatementCommand } from "@aws-sdk/client-rds-data";
import sql, { raw } from "sql-template-tag";
import { deadlineFromNow, retry } from "../aws/retry.ts";
import { client, database, isTransient } from "../data-api/client.ts";
import { isLoginRefused, sqlStateOf } from "../data-api/errors.ts";
import { text } from "../data-api/read.ts";
import type { Send } from "../data-api/transaction.ts";
import { withMigrationLock } from "./migration-lock.ts";
import { type Credentials, credentialsIn, storeForTrial, verifierOf } from "./passwords.ts";
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
  {
    name: "colophon_signer",
    purpose: "Signs users in, and reads nothing",
    secret: process.env.DATABASE_SIGNER_SECRET_ARN,
  },
] as const;

type Role = (typeof roles)[number];

export const roleNames: readonly string[] = roles.map(({ name }) => name);

/** The two names by which a role logs in: its passwords rotate in turn, so that one of them always works. */
const loginsOf = (name: string) => [name, `${name}_clone`] as const;

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
const cannotMakeRoles = `The database's user may not make the roles ${roleNames.flatMap(loginsOf).join(", ")}: give it \
createrole, and if they are there already, all of them with admin option`;

/** @returns the roles whose secrets name a login that existed before */
async function createRoles(send: Send): Promise<readonly Role[]> {
  const existing: Role[] = [];
  for (const role of roles) {
    const credentials = await credentialsOf(role);
    for (const login of loginsOf(role.name)) {
      const [found] = await send(sql`select 1 from pg_roles where rolname = ${login}::text`);
      if (!found) await send(raw(`create role ${login}`));
      await lock(login, send);
      if (login !== credentials.username) continue;
      if (found) existing.push(role);
      else await writePassword(credentials, send);
    }
  }
  await runScript({ path: "lib/migrations/roles.sql", text: settings }, send);
  return existing;
}

/** Locks a login, so that migrations of other databases of the server wait. */
async function lock(login: string, send: Send): Promise<void> {
  await send(raw(`comment on role ${login} is '${roleOf(login).purpose}'`));
}

async function checkPassword(role: Role, setsPasswords: boolean, send: Send): Promise<void> {
  const credentials = await credentialsOf(role);
  if (await logsIn(role.secret)) return;
  if (!setsPasswords) throw new Error(otherPassword(credentials));
  await lock(credentials.username, send);
  await writePassword(credentials, send);
}

const otherPassword = ({ username }: Credentials) => `The role ${username} has another password than its secret. Roles \
belong to all databases of a server, so another service may be using it. To set the secret's password nevertheless, \
invoke ops-migrate with {"setPasswords": true}, or start the local service with --set-passwords`;

/**
 * Who logs in with a secret; undefined if PostgreSQL refuses them. The Data API tries: nothing else connects to the
 * database.
 */
async function logsIn(secretArn: string | undefined): Promise<string | undefined> {
  const command = new ExecuteStatementCommand({ ...database, secretArn, sql: "select session_user::text" });
  const mayPass = (error: unknown) => isTransient(error) && !isLoginRefused(error);
  try {
    const { records: [row = []] = [] } = await retry(
      (options) => client.send(command, options),
      mayPass,
      deadlineFromNow(),
    );
    return text(row, 0);
  } catch (error) {
    if (isLoginRefused(error)) return undefined;
    throw error;
  }
}

/** The credentials in a role's secret. Another role gets no password, whatever a secret says. */
async function credentialsOf(role: Role): Promise<Credentials> {
  const credentials = await credentialsIn(role.secret);
  if (roleOf(credentials.username) !== role) throw new Error(noRole(credentials.username));
  return credentials;
}

/** @throws when it is none of the service's logins */
function roleOf(login: string): Role {
  const role = roles.find(({ name }) => loginsOf(name).includes(login));
  if (!role) throw new Error(noRole(login));
  return role;
}

const noRole = (name: string) => `The service has no role ${name}`;

async function writePassword({ username, password }: Credentials, send: Send): Promise<void> {
  await send(raw(`alter role ${username} login password '${verifierOf(password)}'`));
}

/** The other one of the two logins of a role. */
export function otherLogin(login: string): string {
  const [first, second] = loginsOf(roleOf(login).name);
  return login === first ? second : first;
}

/**
 * Gives the login that is not in use a new password.
 * @param inUse the credentials that functions log in with
 * @throws when functions use this login, with another password
 */
export async function setPassword(credentials: Credentials, inUse: Credentials): Promise<void> {
  const { username, password } = credentials;
  if (username !== otherLogin(inUse.username)) {
    if (username === inUse.username && password === inUse.password) return;
    throw new Error(`Functions log in as ${inUse.username}, so only ${otherLogin(inUse.username)} gets a new password`);
  }
  await withMigrationLock(async (send) => {
    await lock(username, send);
    await writePassword(credentials, send);
  });
}

/**
 * Tries a login before functions use it, by a secret for trials alone: the Data API accepts only a secret's current
 * version. There is one trial at a time. AWS does not say how soon the Data API reads a secret anew, nor whether it keeps
 * sessions of a former login for a while.
 * @throws when it cannot log in before `deadline`, by `performance.now()`
 */
export async function tryLogin(credentials: Credentials, deadline: number): Promise<void> {
  await withMigrationLock(async () => {
    await storeForTrial(process.env.DATABASE_TRIAL_SECRET_ARN, credentials);
    const endBy = Math.min(deadline, performance.now() + trialMaxInMilliseconds);
    while ((await logsIn(process.env.DATABASE_TRIAL_SECRET_ARN)) !== credentials.username) {
      if (performance.now() > endBy) throw new Error(`${credentials.username} cannot log in with the new password`);
      await sleep(trialPauseInMilliseconds);
    }
  });
}

/** Another rotation waits for its own trial meanwhile, in a statement that the Data API ends after 45 s. */
const trialMaxInMilliseconds = 30_000;
const trialPauseInMilliseconds = 500;
