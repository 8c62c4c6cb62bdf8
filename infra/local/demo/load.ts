import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Client as Connection } from "pg";
import sql from "sql-template-tag";
import { slugOf } from "../../../lib/contract/slug.ts";
import { type CatalogueLine, parseLine } from "../../../lib/operators/transfer/catalogue-lines.ts";
import type { Lambda } from "../../aws-local/lambda/lambda.ts";
import { withConnection } from "../../aws-local/postgres/connection.ts";
import roles from "./roles.json" with { type: "json" };
import users from "./users.json" with { type: "json" };
import { renewTokens } from "./users.ts";

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
  { users: withUsers = true } = {},
): Promise<void> {
  const imported = await invoke("ops-import", { source: await readFile(catalogue, "utf8"), by: "npm start" });
  if ("error" in imported) throw new Error(`ops-import: ${imported.error.errorMessage}`);
  await withConnection(databaseUrl, async (connection) => {
    await connection.query("begin");
    const { rowCount } = await connection.query(sql`
      with entries as (
        select * from json_to_recordset(${JSON.stringify(roles)}) as entry (name text, description text, permissions text[])
      ), added as (
        insert into roles (name, description) select name, description from entries on conflict do nothing returning id, name
      )
      insert into role_permissions (role_id, permission_id)
      select added.id, permissions.id
      from added join entries using (name) join permissions on permissions.key = any(entries.permissions)
    `);
    if (rowCount && withUsers) {
      await loadUsers(connection);
      await renewTokens(connection);
    }
    await connection.query("commit");
  });
}

async function loadUsers(connection: Connection): Promise<void> {
  const entries = users.map((user) => ({ ...user, slug: slugOf([user.username], "user") }));
  await connection.query(sql`
    with entries as (
      select *
      from
        json_to_recordset(${JSON.stringify(entries)})
          as entry (username text, slug text, age_verified boolean, registered timestamptz, roles text[])
    ), added as (
      insert into users (username, slug, age_verified, registered)
      select username, slug, age_verified, registered from entries
      returning id, username
    )
    insert into user_roles (user_id, role_id)
    select added.id, roles.id
    from
      added
      join entries using (username)
      join roles on roles.name = any(entries.roles) or cardinality(entries.roles) = 0 and is_default = 1
  `);
}
