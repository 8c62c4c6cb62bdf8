import { randomBytes } from "node:crypto";
import postgres, { type Sql, type TransactionSql } from "postgres";

/** The owner of the service's databases. */
export const owner = "colophon";

/**
 * Makes a role that is not a superuser the owner of a database, as on Aurora. The role can create the roles as which
 * functions log in, but its statements cannot read the machine's files or run its programs. Role and database are created
 * if they do not exist; the role becomes the owner of everything in an existing database. Only superusers may still
 * connect to the databases that every server has.
 * @param serverUrl the URL of a superuser
 * @returns the server's URL with the role, which gets a new password
 */
export async function createOwnedDatabase(serverUrl: string, name: string): Promise<string> {
  const sql = postgres(`${serverUrl}/postgres`, { max: 1 });
  try {
    const password = randomBytes(16).toString("hex");
    await createOwner(sql, password);
    await sql`revoke connect on database postgres, template1 from public`;
    const [database] = await sql<{ owner: string }[]>`
      select pg_get_userbyid(datdba) as owner from pg_database where datname = ${name}
    `;
    if (!database) await sql`create database ${sql(name)} owner ${sql(owner)} encoding 'UTF8' template template0`;
    else if (database.owner !== owner) await handOver(`${serverUrl}/${encodeURIComponent(name)}`, name);
    return Object.assign(new URL(serverUrl), { username: owner, password }).href;
  } finally {
    await sql.end();
  }
}

async function createOwner(sql: Sql, password: string): Promise<void> {
  const [role] = await sql`select 1 from pg_roles where rolname = ${owner}`;
  if (!role) await sql`create role ${sql(owner)}`;
  // The statement takes no parameters.
  await sql.unsafe(`alter role ${owner} login nosuperuser nocreatedb createrole password '${password}'`);
}

/** All or nothing: the database is handed over with what is in it. */
async function handOver(databaseUrl: string, name: string): Promise<void> {
  const sql = postgres(databaseUrl, { max: 1 });
  try {
    await sql.begin(async (step) => {
      for (const { thing } of await contentsOf(step)) await step.unsafe(`alter ${thing} owner to ${owner}`);
      await step`alter database ${step(name)} owner to ${step(owner)}`;
    });
  } finally {
    await sql.end();
  }
}

/**
 * `reassign owned` refuses what the first superuser has. Indexes, triggers and sequences go with their tables, and the
 * schema `public` with the database; extensions stay whose they are.
 */
const contentsOf = (sql: TransactionSql) => sql<{ thing: string }[]>`
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
