import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it, vi } from "vitest";
import { type Lambda, startLambda } from "../../../infra/aws-local/lambda/lambda.ts";
import { type DataApi, startDataApi } from "../../../infra/aws-local/test/data-api.ts";
import { defaultName as owner } from "../../../infra/local/database.ts";
import { settingsOf } from "../../../infra/local/stage/functions.ts";
import { type Migration, migrations } from "../../../lib/migrations/tables/all.ts";
import { identifier, openDatabase, type Sql, values } from "../../support/database.ts";
import { key, useDatabase } from "../../support/environment.ts";
import { createDatabase } from "../../support/own-database.ts";

const names = migrations.map(({ name }) => name);

let database: string;
let sql: Sql;
let dataApi: DataApi;
let lambda: Lambda;

const dataApiWith = (limits = {}) =>
  startDataApi({ databaseUrl: inject("ownerUrl"), secrets: inject("secrets"), key, limits });

beforeAll(async () => {
  database = await createDatabase("template1");
  sql = openDatabase(`${inject("databaseUrl")}/${database}`);
  dataApi = await dataApiWith();
  useDatabase(database, dataApi.url);
  lambda = await startLambda({ outdir: inject("outdir"), settingsOf });
});

afterAll(async () => {
  await dataApi.close();
  await sql.end();
});

const empty = () => sql.query("drop schema public cascade; create schema public authorization pg_database_owner");
const migrate = () => lambda.invoke("ops-migrate", {});

describe("ops-migrate", () => {
  it("fails instead of waiting for another session's lock, and leaves nothing of the migration that it names", async () => {
    await sql.begin(async (other) => {
      await other`create table volumes (id int)`;

      expect(await migrate()).toMatchObject({
        error: { errorMessage: expect.stringMatching(/^Migration 05-series failed: .*lock timeout/) },
      });
      await other`drop table volumes`;
    });
    expect(await sql`select from pg_tables where tablename in ('series', 'series_aliases')`).toEqual([]);
  });

  it("brings a database up to date, also when two run at once", async () => {
    await empty();

    const runs = await Promise.all([migrate(), migrate()]);

    expect(runs.filter((run) => "error" in run)).toEqual([]);
    const applied = runs.flatMap((run) => ("result" in run ? (run.result as { applied: string[] }).applied : []));
    expect(applied.sort()).toEqual(names);
    const ledger = await sql`select name from migrations order by name`;
    expect(ledger.map(({ name }) => name)).toEqual(names);
    const files = await readdir(join(import.meta.dirname, "../../../lib/migrations/tables"));
    expect(files.sort()).toEqual([...names.map((name) => `${name}.sql`), "all.ts"]);
  });

  it.each([
    { what: "a statement", operation: "ExecuteStatement" },
    { what: "a commit", operation: "CommitTransaction" },
  ] as const)("fails when nobody hears of $what, repeats none, and goes on in the next run", async ({ operation }) => {
    await empty();
    dataApi.calls.length = 0;
    const ofThisKind = () => dataApi.calls.filter((call) => call.operation === operation).length;
    dataApi.intercept((call) =>
      call.operation === operation && ofThisKind() === 5 ? { kind: "drop-after" } : undefined,
    );

    expect(await migrate()).toMatchObject({ error: { errorMessage: expect.stringContaining("socket hang up") } });
    expect(ofThisKind()).toBe(5);
    dataApi.intercept(undefined);

    expect(await migrate()).toMatchObject({ result: { applied: expect.arrayContaining([names.at(-1)]) } });
    expect(await sql`select name from migrations order by name`).toEqual(names.map((name) => ({ name })));
  });

  it("replaces the list of recorded tables of a release that knew other columns", async () => {
    await sql.query(`
      drop function if exists history_tables();
      create function history_tables() returns text language sql as 'select null';
      alter function history_tables() owner to ${owner}
    `);

    expect(await migrate()).not.toHaveProperty("error");
    expect(await sql`select from history_tables() where table_name = 'contributors'`).toHaveLength(1);
  });

  it("restores the permissions and the Administrator role, without trusting names", async () => {
    await sql`delete from permissions where key in ('view-users', 'edit-roles')`;
    await sql`delete from roles where key = 'administrator'`;
    await sql`insert into permissions (name, description) values ('View-Users', 'an impostor')`;
    const [impostor] = await sql`insert into roles (name) values ('administrator') returning id`;

    await migrate();

    const held = await sql`
      select permissions.key
      from roles join role_permissions on role_id = roles.id join permissions on permissions.id = permission_id
      where roles.key = 'administrator'
    `;
    expect(held.length).toBe(15);
    expect(await sql`select from role_permissions where role_id = ${impostor?.id}`).toHaveLength(0);
    expect(await sql`select from permissions where key is null`).toHaveLength(1);
    expect(await sql`select from roles where is_default = 1`).toHaveLength(1);
  });

  it("takes all rights to what its owner has created in the schema, and none to what others have", async () => {
    const stranger = `stranger_${process.pid}`;
    await sql.query(`
      create role ${stranger};
      create table theirs (id int);
      create table ours (id int);
      create function their_own() returns int language sql return 1;
      create function our_own() returns int language sql return 1;
      grant select on ours, theirs to public;
      alter table theirs owner to ${stranger};
      alter table ours owner to ${owner};
      alter function their_own owner to ${stranger};
      alter function our_own owner to ${owner}
    `);
    const rights = () => sql`
      select relname as name, relacl::text as acl from pg_class where relname in ('ours', 'theirs')
      union all
      select proname, proacl::text from pg_proc where proname in ('our_own', 'their_own')
      order by 1
    `;
    const before = await rights();

    const outcome = await migrate();

    expect(outcome).toEqual({ result: { applied: [] } });
    expect(await rights()).toEqual([
      { name: "our_own", acl: `{${owner}=X/${owner}}` },
      { name: "ours", acl: `{${owner}=arwdDxtm/${owner}}` },
      ...before.slice(2),
    ]);
    await sql`drop table ours, theirs`;
    await sql`drop function our_own, their_own`;
    await sql`drop role ${identifier(stranger)}`;
  });

  it("refuses a database of other migrations, and changes nothing in it", async () => {
    await empty();
    await sql.query(`
      create table migrations (name text primary key, checksum text not null, applied_at timestamptz default now());
      insert into migrations values ('0001-names', 'a', now() - interval '1 day'), ('01-names', 'b', now());
      alter table migrations owner to ${owner}
    `);
    const contents = () => sql`
      select relname as name, xmin::text from pg_class where relnamespace = 'public'::regnamespace
      union all
      select proname, xmin::text from pg_proc where pronamespace = 'public'::regnamespace
      union all
      select name, xmin::text from migrations
      order by name
    `;
    const before = await contents();

    expect(await migrate()).toMatchObject({
      error: {
        errorMessage: expect.stringMatching(
          /^The database was made by migrations .* Nothing was changed\. Export .* `npm start`, name another folder by --data DIR$/,
        ),
      },
    });

    expect(await contents()).toEqual(before);
    await empty();
    await migrate();
  });

  it("waits for a cluster that cannot run anything yet, whatever its error", async () => {
    const error = { kind: "error", status: 400, type: "SecretsErrorException" } as const;
    let refused = 0;
    dataApi.intercept(() => (refused++ < 5 ? error : undefined));

    const result = await migrate();

    dataApi.intercept(undefined);
    expect(result).toEqual({ result: { applied: [] } });
    expect(refused).toBeGreaterThan(5);
  });
});

describe("A migration of the next release", () => {
  /* A call of this Data API ends after three seconds. An index takes as long as another session locks its table. */
  const callSeconds = 3;
  let slowApi: DataApi;
  let migrateTo: (next: Migration, endBy?: number) => Promise<string[]>;

  beforeAll(async () => {
    await empty();
    await migrate();
    slowApi = await dataApiWith({ statementTimeoutInMilliseconds: callSeconds * 1_000 });
    useDatabase(database, slowApi.url);
    vi.resetModules();
    const runner = await import("../../../lib/migrations/migrate.ts");
    migrateTo = (next, endBy) => runner.migrate([...migrations, next], endBy);
  });

  afterAll(() => slowApi.close());

  it("finds its table recorded and tagged, by triggers that it does not name", async () => {
    const text = `drop table publisher_relations;

create table publisher_relations (
  publisher_id bigint not null references publishers on delete cascade,
  relation_id bigint not null references publishers on delete cascade,
  since date,
  primary key (publisher_id, relation_id)
);`;
    const triggers = () => sql`
      select tgname, tgrelid::regclass::text as table_name, xmin::text from pg_trigger
      where not tgisinternal and tgrelid::regclass::text <> 'publisher_relations'
      order by 1, 2
    `;
    const before = await triggers();

    expect(await migrateTo({ name: "90-since", path: "90-since.sql", text })).toEqual(["90-since"]);

    expect(await triggers()).toEqual(before);
    const deferrable = values(sql`
      select condeferrable from pg_constraint where conrelid = 'publisher_relations'::regclass and contype = 'f'
    `);
    expect(await deferrable).toEqual([true, true]);
    await sql`insert into publishers (name, slug) values ('A', 'a'), ('B', 'b')`;
    await sql`insert into publisher_relations values (2, 1, '1999-12-31')`;
    await sql`update publisher_relations set since = null`;
    const recorded = await sql`
      select owner::int, key, before, after from changed_rows where table_name = 'publisher_relations' order by change_id
    `;
    const since = { since: "1999-12-31" };
    expect(recorded).toEqual([
      { owner: 2, key: [2, 1], before: null, after: { publisher_id: 2, relation_id: 1, ...since } },
      { owner: 2, key: [2, 1], before: since, after: { since: null } },
    ]);
    const tags = await sql`select tag from stale_tags group by transaction, tag order by transaction desc limit 2`;
    expect(tags).toEqual([{ tag: "publisher-2" }, { tag: "publisher-2" }]);
  });

  describe("with other elements of publishers", () => {
    const recorded = () => sql`
      select owner::int, key, before, after
      from changed_rows
      where table_name = 'publisher_descriptions'
      order by change_id, id, position
    `;

    beforeAll(async () => {
      const text = `drop table publisher_descriptions;

create table publisher_descriptions (
  id bigint primary key,
  publisher_id bigint references publishers on delete cascade,
  weight double precision,
  lasted interval,
  bytes bytea
);`;
      await migrateTo({ name: "91-descriptions", path: "91-descriptions.sql", text });
      await sql`insert into publishers (id, name, slug) overriding system value values (71, 'C', 'c')`;
    });

    beforeEach(async () => {
      await sql`delete from publisher_descriptions`;
      await sql`delete from history`;
      await sql`delete from stale_tags`;
    });

    it("records values alike, whatever the session has set, of an insertion as of a deletion", async () => {
      await sql.begin(async (transaction) => {
        await transaction.query(
          "set local extra_float_digits = -10; set local intervalstyle = sql_standard; set local bytea_output = escape",
        );
        await transaction`insert into publisher_descriptions values (1, 71, 0.1::float8 + 0.2::float8, '1 day 2 hours', '\\xff')`;
      });
      await sql`delete from publisher_descriptions`;

      const row = { id: 1, publisher_id: 71, weight: 0.1 + 0.2, lasted: "1 day 02:00:00", bytes: "\\xff" };
      expect(await recorded()).toEqual([
        { owner: 71, key: [1], before: null, after: row },
        { owner: 71, key: [1], before: row, after: null },
      ]);
    });

    it("records one that belongs to no publisher, which makes only lists stale", async () => {
      await sql`insert into publisher_descriptions (id) values (2)`;

      expect(await recorded()).toMatchObject([{ owner: null, key: [2] }]);
      expect(await sql`select tag from stale_tags`).toEqual([]);
    });

    it("records a statement that touches many by a thousand, since an array has a longest size", async () => {
      await sql`insert into publisher_descriptions (id, publisher_id) select id, 71 from generate_series(1, 2500) as id`;
      await sql`update publisher_descriptions set weight = 1`;
      await sql`delete from publisher_descriptions`;

      expect(await sql`select count(*)::int, max(cardinality(owners))::int from history group by change_id`).toEqual(
        Array.from({ length: 3 }, () => ({ count: 3, max: 1_000 })),
      );
      expect(await recorded()).toHaveLength(7_500);
    });
  });

  describe("that is slow", () => {
    beforeEach(async () => {
      await sql.query(`
      delete from migrations where name = '90-index';
      drop table if exists entries;
      create table entries (id int);
      alter table entries owner to ${owner};
      insert into entries select generate_series(1, 100);
    `);
      slowApi.calls.length = 0;
    });

    afterEach(() => slowApi.intercept(undefined));

    const slow = (kind = "index") => ({
      name: "90-index",
      path: "lib/migrations/tables/90-index.sql",
      text: `-- slow\n-- Finds entries.\ncreate ${kind} concurrently if not exists entries_id on entries (id);\n`,
    });
    const text = slow();

    /** Runs something while the index cannot be finished. */
    const withLock = (work: () => Promise<unknown>) =>
      sql.begin(async (other) => {
        await other`lock table entries in row exclusive mode`;
        await work();
      });

    const running = (seconds = 0) => sql`
    select from pg_stat_activity
    where
      datname = current_database()
      and state = 'active'
      and query like '%create index%'
      and pid <> pg_backend_pid()
      and clock_timestamp() - query_start > make_interval(secs => ${seconds})
  `;
    const index = () => sql`
    select indisvalid as valid from pg_class join pg_index on indexrelid = oid where relname = 'entries_id'
  `;
    const begins = /create (unique )?index/;
    const begun = () => slowApi.calls.filter(({ sql: sent = "" }) => begins.test(sent)).length;
    const longAgo = () => performance.now() - 1;
    const goesOn = "Migration 90-index failed: its statement goes on in the database; run ops-migrate or";
    /** The call that begins the index breaks off, and the statement runs. */
    const breakOff = () =>
      slowApi.intercept(({ sql: sent = "" }) =>
        begins.test(sent) && begun() === 1 ? { kind: "late", until: Promise.resolve(), done: () => {} } : undefined,
      );

    it("is applied at once if it takes no time", async () => {
      expect(await migrateTo(text)).toEqual(["90-index"]);

      expect(await index()).toEqual([{ valid: true }]);
      slowApi.calls.length = 0;
      expect(await migrateTo(text)).toEqual([]);
      expect(begun()).toBe(0);
    });

    it("is waited for when its call has timed out", async () => {
      let run = Promise.resolve<string[]>([]);
      await withLock(async () => {
        run = migrateTo(text);
        await expect.poll(() => running(callSeconds + 0.5)).toHaveLength(1);
      });

      expect(await run).toEqual(["90-index"]);
      expect(await index()).toEqual([{ valid: true }]);
      // It ended unheard, so it was sent again, which had nothing to do.
      expect(begun()).toBe(2);
      expect(await sql`select name from migrations where name = '90-index'`).toEqual([{ name: "90-index" }]);
    });

    it("goes on when the time of its run is over, and is recorded by a run after its end", async () => {
      await withLock(async () => {
        await expect(migrateTo(text, longAgo())).rejects.toThrow(goesOn);
        await expect(migrateTo(text)).rejects.toThrow(goesOn);
        expect(begun()).toBe(1);
      });
      await expect.poll(() => running()).toEqual([]);

      expect(await migrateTo(text)).toEqual(["90-index"]);

      expect(await index()).toEqual([{ valid: true }]);
    });

    it("is begun anew, without the invalid index, when it was cancelled", async () => {
      await withLock(async () => {
        await expect(migrateTo(text, longAgo())).rejects.toThrow(goesOn);
        await sql`select pg_cancel_backend(pid) from pg_stat_activity where query like '%create index%' and pid <> pg_backend_pid()`;
        await expect.poll(() => running()).toEqual([]);
      });
      expect(await index()).toEqual([{ valid: false }]);

      expect(await migrateTo(text)).toEqual(["90-index"]);

      expect(await index()).toEqual([{ valid: true }]);
    });

    it.each([
      {
        how: "with its file and line, if its call says so",
        fail: () => {},
        message:
          /^Migration 90-index failed: lib\/migrations\/tables\/90-index\.sql:3:1: .*could not create unique index/,
      },
      {
        how: "without another run, if its call broke off",
        fail: breakOff,
        message: "Migration 90-index failed: its statement ended after its call, without success",
      },
    ])("fails when its statement fails: $how", async ({ fail, message }) => {
      await sql`insert into entries values (1)`;
      fail();

      await expect(migrateTo(slow("unique index"))).rejects.toThrow(message);

      expect(begun()).toBe(1);
      await sql`delete from entries where id = 1`;
      expect(await migrateTo(slow("unique index"))).toEqual(["90-index"]);
      expect(await index()).toEqual([{ valid: true }]);
    });
  });
});
