import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DatabaseRole, limitedRoles } from "../../../infra/build/database-role.ts";
import type { Sql } from "../../support/database.ts";
import { attempt, logIn } from "../../support/logins.ts";
import { type Stack, startStack } from "../../support/stack.ts";

/* What each role may do, tried with the role's own password. */

const namesIn = (text: string): readonly string[] => text.match(/\w+/g) ?? [];

/** The tables of which each role may read at least a column: a new table belongs to one of them, or to no role. */
const people = namesIn(`
  contributor_aliases contributor_descriptions contributor_links contributor_relations contributors
`);
const works = namesIn(`
  publisher_aliases publisher_descriptions publisher_relations publishers series series_aliases series_contributors
  series_descriptions series_publishers series_tags tags volumes
`);
const readable: Readonly<Record<DatabaseRole, readonly string[]>> = {
  public: [...people, ...works, "former_slugs", "counters"],
  reader: [
    ...people,
    ...namesIn(
      "contributor_locks counters permissions refresh_tokens role_permissions roles user_locks user_roles users",
    ),
  ],
  editor: [],
  operator: [
    ...people,
    ...works,
    ...namesIn(
      "changes clients history images_to_remove imports invalidation_lease invalidations permissions roles stale_tags users",
    ),
  ],
  signer: [],
  master: [],
};
const unread = namesIn(
  "awaited_emails change_lock former_external_ids identities lock_secret migrations releases used_attempts",
);
const tables = [...new Set([...Object.values(readable).flat(), ...unread])].sort();

/** The columns of tables that a role may not read as a whole. */
const columns: Readonly<Record<string, readonly string[]>> = {
  "reader refresh_tokens": ["expires_at", "revoked_at", "user_id"],
  "operator permissions": ["id", "name"],
  "operator roles": ["id", "name"],
  "operator users": ["id", "username"],
};

/** What a role may do to a table besides reading it. */
const writable: Readonly<Record<string, readonly string[]>> = {
  "operator invalidation_lease": ["insert"],
  "operator invalidations": ["insert"],
  "operator stale_tags": ["delete"],
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
  select: (table) => `select from ${table}`,
  insert: (table) => `insert into ${table} default values`,
  update: (table, column) => `update ${table} set ${column} = default where false`,
  delete: (table) => `delete from ${table} where false`,
  truncate: (table) => `truncate ${table}`,
};

describe("The right to each table", () => {
  it("is set here for every table", async () => {
    const found = await stack.sql`select tablename from pg_tables where schemaname = 'public' order by 1`;

    expect(found.map(({ tablename }) => tablename)).toEqual(tables);
  });

  it.each(tables)("permits a role nothing else: %s", async (table) => {
    const [first] = await stack.sql`
      select attname from pg_attribute where attrelid = ${table}::regclass and attnum = 1
    `;
    const may: Record<string, string[]> = {};
    for (const [role, sql] of logins) {
      may[role] = [];
      for (const [verb, statement] of Object.entries(verbs))
        if ((await attempt(sql, statement(table, first?.attname))) === "may") may[role].push(verb);
    }

    expect(may).toEqual({
      ...Object.fromEntries(
        limitedRoles.map((role) => [
          role,
          [...(readable[role].includes(table) ? ["select"] : []), ...(writable[`${role} ${table}`] ?? [])],
        ]),
      ),
      master: Object.keys(verbs),
    });
  });

  it.each(limitedRoles)("is %s's right to all columns, or to those that are named here", async (role) => {
    for (const table of readable[role]) {
      const found = await stack.sql`
        select attname from pg_attribute where attrelid = ${table}::regclass and attnum > 0 and not attisdropped
      `;
      const all = found.map(({ attname }) => attname).sort();
      const may: string[] = [];
      for (const column of all)
        if ((await attempt(loginOf(role), `select ${column} from ${table}`)) === "may") may.push(column);

      expect([table, ...may]).toEqual([table, ...(columns[`${role} ${table}`] ?? all)]);
    }
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
    ["public", { default_transaction_read_only: "on", statement_timeout: "12s" }, 90],
    ["reader", { default_transaction_read_only: "off", statement_timeout: "12s" }, 75],
    ["editor", { default_transaction_read_only: "off", statement_timeout: "25s" }, 75],
    ["operator", { default_transaction_read_only: "off", statement_timeout: "45s" }, 30],
    ["signer", { default_transaction_read_only: "off", statement_timeout: "25s" }, 20],
  ] as const)("limits what a session of %s may do by mistake", async (role, settings, connections) => {
    const sql = logIn(role, {});
    for (const [name, value] of Object.entries({ ...settings, idle_in_transaction_session_timeout: "10s" }))
      expect(await sql.query(`show ${name}`)).toEqual([{ [name]: value }]);
    await sql.end();
    expect(await stack.sql`select rolconnlimit from pg_roles where rolname = ${`colophon_${role}`}`).toEqual([
      { rolconnlimit: connections },
    ]);
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
