import { ExecuteStatementCommand } from "@aws-sdk/client-rds-data";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DatabaseRole } from "../../../infra/database-role.ts";
import { secretArns } from "../../../infra/local/data-api/secrets.ts";
import { clientOf, resourceArn } from "../../infra/local/data-api/emulator.ts";
import { anAdministrator } from "../../support/people.ts";
import { type Stack, startStack } from "../../support/stack.ts";

/* What each role may do, tried through the Data API with the role's own secret. */

/** Tables that everybody may read, and those that are for administration alone: a new table belongs to one of them. */
const open = `
  contributor_aliases contributor_descriptions contributor_links contributor_relations contributors publisher_aliases
  publisher_descriptions publisher_relations publishers series series_aliases series_contributors series_descriptions
  series_publishers series_tags tags tallies volumes
`.match(/\w+/g) as string[];
const closed = `
  changes clients contributor_locks images_to_remove migrations permissions refresh_tokens releases role_permissions
  roles user_locks user_roles users
`.match(/\w+/g) as string[];
/** Nobody but the owner may lock it, not even in the mode of a select. */
const hidden = ["change_lock"];

const roles = ["public", "admin", "master"] as const;
const limited = ["public", "admin"] as const;

let stack: Stack;
let database: string;
let schema: string;

beforeAll(async () => {
  stack = await startStack();
  // A database made from a template has none of the template's own rights.
  expect(await stack.lambda.invoke("ops-migrate", {})).toMatchObject({ result: { applied: [] } });
  database = `${process.env.DATABASE_NAME}`;
  const [release] = await stack.sql`select schema from releases`;
  schema = release?.schema;
});

afterAll(() => stack.close());

/** PostgreSQL's word on a statement: whether the role may, whatever else is wrong. */
async function attempt(role: DatabaseRole, sql: string): Promise<"may" | "may not"> {
  const command = new ExecuteStatementCommand({ resourceArn, secretArn: secretArns[role], database, sql });
  const error = await clientOf(stack.dataApi.url)
    .send(command)
    .catch((error: Error) => error);
  return error instanceof Error && /SQLState: 42501$/.test(error.message) ? "may not" : "may";
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
    const tables = await stack.sql`select tablename from pg_tables where schemaname = 'public' order by 1`;

    expect(tables.map(({ tablename }) => tablename)).toEqual([...open, ...closed, ...hidden].sort());
  });

  it.each([...open, ...closed, ...hidden])("permits a role nothing else: %s", async (table) => {
    const [first] = await stack.sql`
      select attname from pg_attribute where attrelid = ${table}::regclass and attnum = 1
    `;
    const may: Record<string, string[]> = {};
    for (const role of roles) {
      may[role] = [];
      for (const [verb, statement] of Object.entries(verbs))
        if ((await attempt(role, statement(table, first?.attname))) === "may") may[role].push(verb);
    }

    expect(may).toEqual({
      public: open.includes(table) ? ["select"] : [],
      admin: hidden.includes(table) ? [] : ["select"],
      master: Object.keys(verbs),
    });
  });
});

describe("Of the functions", () => {
  const callOf = ({ name, types }: { name: string; types: string[] }) =>
    `select ${name}(${types.map((type) => `cast(null as ${type})`).join()})`;

  const functionsOf = (schemaName: string) => stack.sql<{ name: string; types: string[] }[]>`
    select
      format('%I.%I', nspname, proname) as name,
      array(select format_type(type, null) from unnest(cast(proargtypes as oid[])) as type) as types
    from pg_proc join pg_namespace on pg_namespace.oid = pronamespace
    where
      nspname = ${schemaName}
      and prorettype <> 'trigger'::regtype
      and not exists (select from pg_depend where objid = pg_proc.oid and deptype = 'e')
    order by proname
  `;

  async function calledBy(role: DatabaseRole, schemaName: string): Promise<string[]> {
    const called: string[] = [];
    for (const each of await functionsOf(schemaName))
      if ((await attempt(role, callOf(each))) === "may") called.push(each.name.replace(`${schemaName}.`, ""));
    return called;
  }

  it("of a release, only administration may call any, and only the entries", async () => {
    expect(await calledBy("public", schema)).toEqual([]);
    expect(await calledBy("admin", schema)).toEqual([
      "caller",
      "make_change",
      "make_operator_change",
      "open_contributor",
      "open_user",
    ]);
    expect(await calledBy("master", schema)).toEqual(
      (await functionsOf(schema)).map(({ name }) => name.replace(`${schema}.`, "")),
    );
  });

  it.each(limited)("of the tables, %s may call only those for searching names", async (role) => {
    expect(await calledBy(role, "public")).toEqual(["containing", "identity_key", "name_key", "without_joiners"]);
  });

  it("none is left to everybody, who may call any by default", async () => {
    const left = await stack.sql`
      select cast(oid as regprocedure)
      from pg_proc
      where
        pronamespace in ('public'::regnamespace, ${schema}::regnamespace)
        and has_function_privilege('public', oid, 'execute')
        and not exists (select from pg_depend where objid = pg_proc.oid and deptype = 'e')
    `;

    expect(left).toEqual([]);
  });

  it("none with its owner's rights finds an object that a caller has created", async () => {
    const paths = await stack.sql`
      select distinct (select setting from unnest(proconfig) as setting where setting like 'search_path=%') as path
      from pg_proc
      where prosecdef and pronamespace <> 'pg_catalog'::regnamespace
    `;

    expect(paths).toEqual([{ path: `search_path=${schema}, public, pg_temp` }]);
  });
});

describe("An edit lock", () => {
  it("cannot be taken for somebody by their id, without their session", async () => {
    const { id } = await anAdministrator(stack.sql);
    const [contributor] =
      await stack.sql`insert into contributors (first_name, slug) values ('Shown', 'shown') returning id`;

    for (const opening of [`open_user('${id}', ${id})`, `open_contributor('${id}', ${contributor?.id})`])
      await attempt("admin", `select ${schema}.${opening}`);

    expect(await stack.sql`select holder_id from user_locks union all select holder_id from contributor_locks`).toEqual(
      [],
    );
  });
});

describe.each(limited)("The role %s", (role) => {
  it.each([
    "create table made ()",
    "create temporary table made ()",
    "create schema made",
    "create function made() returns int language sql return 1",
    "create role made",
    "create extension citext",
    "alter role colophon_admin createrole",
    "alter table tags add column made int",
    "drop table tags",
    "set role colophon",
    "set session authorization colophon",
    "copy tags to program 'true'",
    "select pg_read_file('postgresql.conf')",
  ])("may not %s", async (statement) => {
    expect(await attempt(role, statement)).toBe("may not");
  });
});
