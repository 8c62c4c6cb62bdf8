import sql, { raw } from "sql-template-tag";
import { sqlStateOf } from "./errors.ts";
import { inTurn } from "./in-turn.ts";
import { type Credentials, credentialsIn, verifierOf } from "./passwords.ts";
import { release } from "./release.ts";
import rights from "./rights.sql";
import { runScript } from "./script.ts";
import type { Send } from "./transaction.ts";

/** The roles that functions log in as, and the secrets with their passwords. Only migrations run as the master user. */
const roles = [
  { name: "colophon_public", purpose: "Reads what is public", secret: process.env.DATABASE_PUBLIC_SECRET_ARN },
  {
    name: "colophon_admin",
    purpose: "Reads everything, and changes it by the functions of a release",
    secret: process.env.DATABASE_ADMIN_SECRET_ARN,
  },
] as const;

type Role = (typeof roles)[number];

/** Creates missing roles, and sets the passwords that are in their secrets. */
export async function makeRoles(): Promise<void> {
  const all = await Promise.all(roles.map(async ({ secret }) => await credentialsIn(secret)));
  await inTurn(async (send) => {
    for (const credentials of all) await makeRole(credentials, send);
  }).catch((error: unknown) => {
    throw sqlStateOf(error) === insufficientPrivilege ? new Error(cannotMakeRoles, { cause: error }) : error;
  });
}

const insufficientPrivilege = "42501";
const cannotMakeRoles = `The database's user may not make the roles ${roles.map(({ name }) => name).join(" and ")}: give it \
createrole, and if they are there already, both of them with admin option`;

async function makeRole({ username, password }: Credentials, send: Send): Promise<void> {
  const { name, purpose } = findRole(username);
  const [found] = await send(sql`select 1 from pg_roles where rolname = ${name}::text`);
  if (!found) await send(raw(`create role ${name}`));
  // A role belongs to all databases of a server. This locks it, so that migrations of other databases wait.
  await send(raw(`comment on role ${name} is '${purpose}'`));
  await send(raw(`alter role ${name} login password '${verifierOf(password)}'`));
}

/** Finds a role of this service: no other role gets a password, whatever a secret says. */
function findRole(username: string): Role {
  const role = roles.find(({ name }) => name === username);
  if (!role) throw new Error(`The service has no role ${username}`);
  return role;
}

/** Sets a role's password. */
export const setPassword = (credentials: Credentials): Promise<void> => inTurn((send) => makeRole(credentials, send));

/** Grants the roles exactly their rights on the tables and on the functions of this release. */
export async function grantRights(): Promise<void> {
  await inTurn(async (send) => {
    await send(sql`set local search_path = ${raw(release)}, public`);
    await runScript({ path: "lib/database/rights.sql", text: rights }, send);
  });
}
