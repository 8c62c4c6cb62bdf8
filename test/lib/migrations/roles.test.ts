import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DatabaseRole, type LimitedRole, limitedRoles } from "../../../infra/build/database-role.ts";
import type { Sql } from "../../support/database.ts";
import { attempt, logIn } from "../../support/logins.ts";
import { type Stack, startStack } from "../../support/stack.ts";

/* What each role may do, tried with the role's own password. */

const namesIn = (text: string): readonly string[] => text.match(/\w+/g) ?? [];

const people = namesIn(`
  contributor_aliases contributor_descriptions contributor_links contributor_relations contributors
`);
const works = namesIn(`
  publisher_aliases publisher_descriptions publisher_relations publishers series series_aliases series_contributors
  series_descriptions series_publishers series_tags tags volumes
`);
const select = (tables: readonly string[], more = "") => [...tables, ...namesIn(more)].map((each) => `select ${each}`);

/** What each role may do to tables, or to columns of theirs: a new right is named here, too. */
const rights: Readonly<Record<LimitedRole, readonly string[]>> = {
  public: select([...people, ...works], "counters former_slugs"),
  reader: [
    ...select(people, "contributor_locks counters permissions role_permissions roles user_locks user_roles users"),
    "select refresh_tokens.expires_at",
    "select refresh_tokens.revoked_at",
    "select refresh_tokens.user_id",
  ],
  editor: [],
  operator: [
    ...select([...people, ...works], "changes clients history images_to_remove imports"),
    ...select([], "invalidation_lease invalidations stale_tags"),
    ...["permissions.id", "permissions.name", "roles.id", "roles.name", "users.id", "users.username"].map(
      (column) => `select ${column}`,
    ),
    "insert invalidation_lease",
    "insert invalidations",
    "delete stale_tags",
  ],
  signer: [],
};

let stack: Stack;
let schema: string;
const logins = new Map<DatabaseRole, Sql>();

beforeAll(async () => {
  stack = await startStack();
  // A database made from a template has none of the template's own rights.
  expect(await stack.lambda.invoke("ops-migrate", {})).toMatchObject({ result: { applied: [] } });
  const [release] = await stack.sql`select schema from releases`;
  schema = release?.schema;
  for (const role of [...limitedRoles, "master"] as const) logins.set(role, logIn(role));
});

afterAll(async () => {
  for (const sql of logins.values()) await sql.end();
  await stack.close();
});

function loginOf(role: DatabaseRole): Sql {
  const sql = logins.get(role);
  if (!sql) throw new Error(`Nobody has logged in as ${role}`);
  return sql;
}

const verbs: Readonly<Record<string, (table: string, column: string) => string>> = {
  insert: (table) => `insert into ${table} default values`,
  update: (table, column) => `update ${table} set ${column} = default where false`,
  delete: (table) => `delete from ${table} where false`,
  truncate: (table) => `truncate ${table}`,
};

describe("The right to each table", () => {
  it.each(limitedRoles)("permits %s nothing else", async (role) => {
    const sql = loginOf(role);
    const tables = await stack.sql<{ name: string; columns: string[] }[]>`
      select attrelid::regclass::text as name, array_agg(attname::text order by attnum) as columns
      from pg_attribute join pg_tables on tablename::regclass = attrelid
      where schemaname = 'public' and attnum > 0 and not attisdropped
      group by attrelid
    `;
    const may = async (statement: string) => (await attempt(sql, statement)) === "may";
    const found: string[] = [];
    for (const { name, columns } of tables) {
      if (await may(`select * from ${name}`)) found.push(`select ${name}`);
      else
        for (const column of columns)
          if (await may(`select ${column} from ${name}`)) found.push(`select ${name}.${column}`);
      for (const [verb, statement] of Object.entries(verbs))
        if (await may(statement(name, `${columns[0]}`))) found.push(`${verb} ${name}`);
    }

    expect(found.sort()).toEqual(rights[role].toSorted());
  });
});

describe("Of the functions", () => {
  // A strict function is not even called for a null.
  const callOf = ({ name, types }: { name: string; types: string[] }) =>
    `select ${name}(${types.map((type) => `cast(${type === "text" ? "'a'" : "null"} as ${type})`).join()})`;

  const functionsOf = (schemaName: string) => stack.sql<{ name: string; types: string[] }[]>`
    select
      format('%I.%I', nspname, proname) as name,
      array(select format_type(type, null) from unnest(cast(proargtypes as oid[])) as type) as types
    from pg_proc join pg_namespace on pg_namespace.oid = pronamespace
    where
      nspname = ${schemaName}
      and prokind = 'f' and prorettype <> 'trigger'::regtype
      and not exists (select from pg_depend where objid = pg_proc.oid and deptype = 'e')
    order by proname
  `;

  async function calledBy(role: DatabaseRole, schemaName: string): Promise<string[]> {
    const called: string[] = [];
    for (const each of await functionsOf(schemaName))
      if ((await attempt(loginOf(role), callOf(each))) === "may") called.push(each.name.replace(`${schemaName}.`, ""));
    return called;
  }

  it("of a release, each role may call only those that its functions call", async () => {
    expect(await calledBy("public", schema)).toEqual([]);
    expect(await calledBy("reader", schema)).toEqual(["caller", "open_record", "session_caller"]);
    expect(await calledBy("editor", schema)).toEqual(["make_change"]);
    expect(await calledBy("operator", schema)).toEqual(["described_change", "make_operator_change"]);
    expect(await calledBy("signer", schema)).toEqual(["make_sign_in"]);
    expect(await calledBy("master", schema)).toEqual(
      (await functionsOf(schema)).map(({ name }) => name.replace(`${schema}.`, "")),
    );
  });

  it("of the tables, each role may call only these, and none is left to all roles by default", async () => {
    const searching = ["containing", "long_alias_keys", "name_key", "without_joiners"];
    expect(await calledBy("public", "public")).toEqual(searching);
    expect(await calledBy("reader", "public")).toEqual(searching);
    expect(await calledBy("editor", "public")).toEqual([]);
    expect(await calledBy("operator", "public")).toEqual([
      "history_tables",
      "identity_key",
      "name_key",
      "record_label",
      "without_joiners",
    ]);
    expect(await calledBy("signer", "public")).toEqual([]);
  });

  it("none with its owner's rights finds an object that a caller has created", async () => {
    const paths = await stack.sql`
      select distinct (select setting from unnest(proconfig) as setting where setting like 'search_path=%') as path
      from pg_proc
      where prosecdef and pronamespace <> 'pg_catalog'::regnamespace
      order by path
    `;

    expect(paths).toEqual([
      { path: `search_path=${schema}, public, pg_temp` },
      { path: "search_path=public, pg_temp" },
    ]);
  });
});

describe("The database", () => {
  it("lets in nobody but these roles and its owner", async () => {
    const rights = await stack.sql`
      select coalesce(nullif(grantee, 0)::regrole::text, 'public') as grantee, privilege_type as privilege
      from pg_database cross join aclexplode(datacl)
      where datname = current_database() and grantee <> datdba
      order by 1
    `;

    expect(rights).toEqual(
      ["editor", "operator", "public", "reader", "signer"].map((role) => ({
        grantee: `colophon_${role}`,
        privilege: "CONNECT",
      })),
    );
  });

  it.each([
    ["public", "on", "12s", 90],
    ["reader", "off", "12s", 75],
    ["editor", "off", "25s", 75],
    ["operator", "off", "45s", 30],
    ["signer", "off", "25s", 20],
  ] as const)("limits what a session of %s may do by mistake", async (role, isReadOnly, timeout, connections) => {
    const sql = logIn(role, {});
    const [settings] = await sql`
      select
        current_setting('default_transaction_read_only') as is_read_only,
        current_setting('statement_timeout') as timeout,
        current_setting('idle_in_transaction_session_timeout') as idle,
        (select rolconnlimit from pg_roles where rolname = session_user) as connections
    `;
    await sql.end();

    expect(Object.values(settings ?? {})).toEqual([isReadOnly, timeout, "10s", connections]);
  });

  it("leaves connections of the smallest cluster to the others when two roles have all of theirs", async () => {
    const limits = await stack.sql<{ limit: number }[]>`
      select rolconnlimit as limit from pg_roles where rolname like 'colophon\\_%'
      order by 1 desc
    `;

    expect(limits).toHaveLength(5);
    expect(limits.slice(0, 2).reduce((sum, { limit }) => sum + limit, 0)).toBeLessThanOrEqual(189 - 20);
  });
});
