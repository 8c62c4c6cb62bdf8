import sql, { raw } from "sql-template-tag";
import { sqlStateOf } from "./errors.ts";
import { inTurn } from "./in-turn.ts";
import { type Credentials, credentialsIn, verifierOf } from "./passwords.ts";
import { release } from "./release.ts";
import rights from "./rights.sql";
import { statements } from "./statements.ts";
import type { Send } from "./transaction.ts";

/** Whom functions log in to PostgreSQL as, and the secrets with their passwords. Migrations alone are the master's. */
const roles = [
  { name: "colophon_public", purpose: "Reads what is public", secret: process.env.DATABASE_PUBLIC_SECRET_ARN },
  {
    name: "colophon_admin",
    purpose: "Reads everything, and changes it by the functions of a release",
    secret: process.env.DATABASE_ADMIN_SECRET_ARN,
  },
] as const;

type Role = (typeof roles)[number];

/** Makes the roles where they are missing, and sets the passwords that their secrets have now. */
export async function makeRoles(): Promise<void> {
  const known = await Promise.all(roles.map(async ({ secret }) => await credentialsIn(secret)));
  await inTurn(async (send) => {
    for (const credentials of known) await makeRole(credentials, send);
  }).catch((error: unknown) => {
    throw sqlStateOf(error) === insufficientPrivilege ? new Error(mayNotMakeRoles, { cause: error }) : error;
  });
}

const insufficientPrivilege = "42501";
const mayNotMakeRoles = `The database's user may not make the roles ${roles.map(({ name }) => name).join(" and ")}: give it \
createrole, and if they are there already, both of them with admin option`;

async function makeRole({ username, password }: Credentials, send: Send): Promise<void> {
  const { name, purpose } = roleNamed(username);
  const [found] = await send(sql`select 1 from pg_roles where rolname = ${name}::text`);
  if (!found) await send(raw(`create role ${name}`));
  // Roles are those of all databases of a server, and this has who migrates another one wait.
  await send(raw(`comment on role ${name} is '${purpose}'`));
  await send(raw(`alter role ${name} login password '${verifierOf(password)}'`));
}

/** Nobody else's password is set, whatever a secret says. */
function roleNamed(username: string): Role {
  const role = roles.find(({ name }) => name === username);
  if (!role) throw new Error(`The service has no role ${username}`);
  return role;
}

/** Whoever logs in with another password from now on is refused. */
export const setPassword = (credentials: Credentials): Promise<void> => inTurn((send) => makeRole(credentials, send));

/** Gives the roles their rights, and takes all others from them, as far as they concern this release. */
export async function grantRights(): Promise<void> {
  await inTurn(async (send) => {
    await send(sql`set local search_path = ${raw(release)}, public`);
    for (const statement of statements(rights)) await send(raw(statement));
  });
}
