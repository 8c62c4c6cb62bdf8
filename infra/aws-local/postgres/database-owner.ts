import { randomBytes } from "node:crypto";
import { escapeIdentifier } from "pg";
import { withConnection } from "./connection.ts";

/**
 * Makes a role that is not a superuser the owner of a database, as on Aurora. The role can create the roles as which
 * functions log in, but its statements cannot read the machine's files or run its programs. Role and database are created
 * if they do not exist. Only superusers may still connect to the databases that every server has.
 * @param serverUrl the URL of a superuser
 * @param owner the role; default: it is called like the database
 * @returns the server's URL with the role, which gets a new password
 */
export async function createOwnedDatabase(serverUrl: string, name: string, owner = name): Promise<string> {
  const password = randomBytes(16).toString("hex");
  await withConnection(`${serverUrl}/postgres`, async (client) => {
    const roles = await client.query("select 1 from pg_roles where rolname = $1", [owner]);
    if (roles.rowCount === 0) await client.query(`create role ${escapeIdentifier(owner)}`);
    // The statement takes no parameters.
    await client.query(
      `alter role ${escapeIdentifier(owner)} login nosuperuser nocreatedb createrole password '${password}'`,
    );
    await client.query("revoke connect on database postgres, template1 from public");
    const databases = await client.query("select 1 from pg_database where datname = $1", [name]);
    if (databases.rowCount === 0)
      await client.query(
        `create database ${escapeIdentifier(name)} owner ${escapeIdentifier(owner)} encoding 'UTF8' template template0`,
      );
  });
  return Object.assign(new URL(serverUrl), { username: owner, password }).href;
}
