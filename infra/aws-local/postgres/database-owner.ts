import { randomBytes } from "node:crypto";
import { type Client, escapeIdentifier } from "pg";
import { withConnection } from "./connection.ts";

/**
 * Makes a role that is not a superuser the owner of a database, as on Aurora. The role can create the roles as which
 * functions log in, but its statements cannot read the machine's files or run its programs. Role and database are created
 * if they do not exist; the role becomes the owner of everything in an existing database. Only superusers may still
 * connect to the databases that every server has.
 * @param serverUrl the URL of a superuser
 * @param owner the role; default: it is called like the database
 * @returns the server's URL with the role, which gets a new password
 */
export async function createOwnedDatabase(serverUrl: string, name: string, owner = name): Promise<string> {
  const password = randomBytes(16).toString("hex");
  const database = await withConnection(`${serverUrl}/postgres`, async (client) => {
    await createOwner(client, owner, password);
    await client.query("revoke connect on database postgres, template1 from public");
    const { rows } = await client.query<{ owner: string }>(
      "select pg_get_userbyid(datdba) as owner from pg_database where datname = $1",
      [name],
    );
    if (!rows[0])
      await client.query(
        `create database ${escapeIdentifier(name)} owner ${escapeIdentifier(owner)} encoding 'UTF8' template template0`,
      );
    return rows[0];
  });
  if (database && database.owner !== owner)
    await withConnection(`${serverUrl}/${encodeURIComponent(name)}`, (client) => handOver(client, name, owner));
  return Object.assign(new URL(serverUrl), { username: owner, password }).href;
}

async function createOwner(client: Client, owner: string, password: string): Promise<void> {
  const { rowCount } = await client.query("select 1 from pg_roles where rolname = $1", [owner]);
  if (rowCount === 0) await client.query(`create role ${escapeIdentifier(owner)}`);
  // The statement takes no parameters.
  await client.query(
    `alter role ${escapeIdentifier(owner)} login nosuperuser nocreatedb createrole password '${password}'`,
  );
}

/** All or nothing, as the statements of one text are: the database is handed over with what is in it. */
async function handOver(client: Client, name: string, owner: string): Promise<void> {
  const { rows } = await client.query<{ thing: string }>(contents);
  const things = [...rows.map(({ thing }) => thing), `database ${escapeIdentifier(name)}`];
  await client.query(things.map((thing) => `alter ${thing} owner to ${escapeIdentifier(owner)}`).join(";\n"));
}

/**
 * `reassign owned` refuses what the first superuser has. Indexes, triggers and sequences go with their tables, and the
 * schema `public` with the database; extensions stay whose they are.
 */
const contents = `
  with schemas as (
    select oid, nspname from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema'
  ), extensions as (
    select objid from pg_depend where deptype = 'e'
  )
  select format('schema %I', nspname) as thing
  from schemas
  where nspname <> 'public'
  union all
  select format('table %s', cast(pg_class.oid as regclass))
  from pg_class join schemas on schemas.oid = relnamespace
  where relkind in ('r', 'p', 'v', 'm') and pg_class.oid not in (select objid from extensions)
  union all
  select format('type %s', cast(pg_type.oid as regtype))
  from pg_type join schemas on schemas.oid = typnamespace left join pg_class on pg_class.oid = typrelid
  where (typtype in ('d', 'e') or relkind = 'c') and pg_type.oid not in (select objid from extensions)
  union all
  select format('routine %s', cast(pg_proc.oid as regprocedure))
  from pg_proc join schemas on schemas.oid = pronamespace
  where pg_proc.oid not in (select objid from extensions)
`;
