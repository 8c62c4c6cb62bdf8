import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Client as Connection } from "pg";
import sql from "sql-template-tag";
import { slugOf } from "../../../lib/contract/slug.ts";
import { type CatalogueLine, parseLine } from "../../../lib/operators/catalogue-lines.ts";
import type { Lambda } from "../../aws-local/lambda/lambda.ts";
import { withConnection } from "../../aws-local/postgres/connection.ts";
import { renewTokens } from "./tokens.ts";
import type { Role, User } from "./types.ts";

const catalogue = join(import.meta.dirname, "catalogue.jsonl");

/** The lines of the demo catalogue, which refer to drawn images. */
export const readCatalogue = async (): Promise<readonly CatalogueLine[]> =>
  (await readFile(catalogue, "utf8")).trimEnd().split("\n").map(lineOf);

function lineOf(text: string): CatalogueLine {
  const line = parseLine(text);
  if ("reason" in line) throw new Error(`${line.field} ${line.reason} in ${text}`);
  return line;
}

/**
 * Fills a migrated, empty database with the demo data: the catalogue by the function that imports any, and then roles
 * and users, whose tokens are public. After a run that broke off another one does what is left.
 */
export async function loadDemo(
  { invoke }: Pick<Lambda, "invoke">,
  databaseUrl: string,
  { users = true } = {},
): Promise<void> {
  const imported = await invoke("ops-import", { source: await readFile(catalogue, "utf8"), by: "npm start" });
  if ("error" in imported) throw new Error(imported.error.errorMessage);
  await withConnection(databaseUrl, async (connection) => {
    await connection.query("begin");
    const roles = await readDemo<Role>("roles");
    const { rowCount } = await connection.query(
      sql`select from roles where name = any(${roles.map(({ name }) => name)})`,
    );
    if (rowCount === 0) {
      await loadRoles(connection, roles);
      if (users) {
        await loadUsers(connection, await readDemo<User>("users"));
        await renewTokens(connection);
      }
    }
    await connection.query("commit");
  });
}

const readDemo = async <Entry>(name: string): Promise<Entry[]> =>
  JSON.parse(await readFile(join(import.meta.dirname, `${name}.json`), "utf8"));

async function loadRoles(connection: Connection, entries: readonly Role[]): Promise<void> {
  for (const { name, description = null, permissions } of entries) {
    await connection.query(sql`
      with added as (insert into roles (name, description) values (${name}, ${description}) returning id)
      insert into role_permissions (role_id, permission_id)
      select added.id, permissions.id from added, permissions where permissions.key = any(${permissions})
    `);
  }
}

async function loadUsers(connection: Connection, entries: readonly User[]): Promise<void> {
  for (const { username, roles, age_verified = false, registered = new Date().toISOString() } of entries) {
    const { rows } = await connection.query<{ id: string }>(sql`
      insert into users (username, slug, age_verified, registered)
      values (${username}, ${slugOf(username, "user")}, ${age_verified}, ${registered})
      returning id
    `);
    await connection.query(sql`
      insert into user_roles (user_id, role_id)
      select ${rows[0]?.id}, id
      from roles
      where name = any(${roles.length > 0 ? roles : ["Reader"]})
    `);
  }
}
