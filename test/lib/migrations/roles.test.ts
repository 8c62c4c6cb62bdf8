import { beforeAll, describe, expect, it } from "vitest";
import { type LimitedRole, limitedRoles } from "../../../infra/build/database-role.ts";
import { useStack } from "../../support/stack.ts";

/* What each role may do; attacks.test.ts tries it with the role's own password. */

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
  public: select([...people, ...works], "contributor_changes counters former_slugs"),
  reader: [
    ...select(people, "contributor_changes contributor_locks counters"),
    ...select([], "permissions role_permissions roles user_locks user_roles users"),
    "select refresh_tokens.expires_at",
    "select refresh_tokens.revoked_at",
    "select refresh_tokens.user_id",
  ],
  editor: [],
  operator: [
    ...select([...people, ...works], "changed_rows changes clients history images_to_remove imports"),
    ...select([], "invalidation_lease invalidations stale_tags"),
    ...["select users.id", "select users.username"],
    ...namesIn("run until").map((column) => `update invalidation_lease.${column}`),
    ...namesIn("last_at paths").map((column) => `update invalidations.${column}`),
    "insert invalidation_lease",
    "insert invalidations",
    "delete stale_tags",
  ],
  signer: [],
};

const stack = useStack();
let schema: string;

beforeAll(async () => {
  // A database made from a template has none of the template's own rights.
  expect(await stack.lambda.invoke("ops-migrate", {})).toMatchObject({ result: { applied: [] } });
  const [release] = await stack.sql`select schema from releases`;
  schema = release?.schema;
});

const listed = (rows: Record<string, string>[]) => rows.map(({ right }) => right).sort();

it.each(limitedRoles)("The right to each table permits %s nothing else", async (role) => {
  const found = await stack.sql`
    with
      tables as (
        select oid, relname, verb, has_table_privilege(${`colophon_${role}`}, oid, verb) as may
        from
          pg_class
          cross join unnest(array[
            'select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger', 'maintain'
          ]) as verb
        where relnamespace = 'public'::regnamespace and relkind in ('r', 'v')
      )
    select verb || ' ' || relname as right from tables where may
    union all
    select verb || ' ' || relname || '.' || attname
    from tables join pg_attribute on attrelid = oid
    where
      not may
      and verb in ('select', 'insert', 'update', 'references')
      and attnum > 0 and not attisdropped
      and has_column_privilege(${`colophon_${role}`}, oid, attnum, verb)
  `;

  expect(listed(found)).toEqual(rights[role].toSorted());
});

const searching =
  "default_sort_name grams long_search_keys name_key search_key searched_grams searched_patterns sort_key without_joiners";
/** The functions that each role may call, of a release and of the tables. */
const functions: Readonly<Record<LimitedRole, readonly [ofRelease: string, ofTables: string]>> = {
  public: ["", `${searching} identity_key long_series_search_keys`],
  reader: ["caller open_record session_caller", searching],
  editor: ["make_change", ""],
  operator: [
    "described_change make_operator_change record_label",
    "history_tables identity_key name_key without_joiners",
  ],
  signer: ["make_sign_in", ""],
};

describe("The right to each function", () => {
  it.each(limitedRoles)("permits %s only those that its functions call, by default or not", async (role) => {
    const calledBy = async (schemaName: string) =>
      listed(
        await stack.sql`
          select proname as right
          from pg_proc
          where
            pronamespace = ${schemaName}::regnamespace
            and prorettype <> 'trigger'::regtype
            and not exists (select from pg_depend where objid = pg_proc.oid and deptype = 'e')
            and has_function_privilege(${`colophon_${role}`}, oid, 'execute')
        `,
      );

    expect([await calledBy(schema), await calledBy("public")]).toEqual(
      functions[role].map((names) => namesIn(names).toSorted()),
    );
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
      limitedRoles.toSorted().map((role) => ({ grantee: `colophon_${role}`, privilege: "CONNECT" })),
    );
  });

  it("limits what sessions of each role may do by mistake", async () => {
    const settings = await stack.sql`
      select rolname as role, rolconnlimit as connections, array_to_string(setconfig, ' ') as settings
      from pg_roles join pg_db_role_setting on setrole = pg_roles.oid
      where rolname like 'colophon\\_%' and setdatabase = 0
      order by rolname
    `;

    const [server] = await stack.sql`select current_setting('max_connections')::int as connections`;
    const share = (percent: number) => Math.floor((server?.connections * percent) / 100);
    const idle = "idle_in_transaction_session_timeout=10s";
    expect(settings.map(Object.values)).toEqual([
      ["colophon_editor", share(15), `statement_timeout=25s ${idle}`],
      ["colophon_operator", share(5), `statement_timeout=45s ${idle}`],
      ["colophon_public", share(50), `default_transaction_read_only=on statement_timeout=12s ${idle}`],
      ["colophon_reader", share(20), `statement_timeout=12s ${idle}`],
      ["colophon_signer", share(5), `statement_timeout=25s ${idle}`],
    ]);
  });
});
