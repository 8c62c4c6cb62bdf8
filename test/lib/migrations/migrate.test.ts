import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { type Lambda, startLambda } from "../../../infra/aws-local/lambda/lambda.ts";
import { type DataApi, startDataApi } from "../../../infra/aws-local/test/data-api.ts";
import { defaultName as owner } from "../../../infra/local/database.ts";
import { settingsOf } from "../../../infra/local/stage/functions.ts";
import { scripts } from "../../../lib/changes/all.ts";
import { migrations } from "../../../lib/migrations/tables/all.ts";
import { identifier, openDatabase } from "../../support/database.ts";
import { key, useDatabase } from "../../support/environment.ts";

const names = migrations.map(({ name }) => name);

let dataApi: DataApi;
let lambda: Lambda;
const database = `migrations_${process.pid}`;
const admin = openDatabase(`${inject("databaseUrl")}/postgres`, { max: 1 });
const sql = openDatabase(`${inject("databaseUrl")}/${database}`, { max: 2 });

beforeAll(async () => {
  await admin`create database ${identifier(database)} owner ${identifier(owner)}`;
  dataApi = await startDataApi({ databaseUrl: inject("ownerUrl"), secrets: inject("secrets"), key });
  useDatabase(database, dataApi.url);
  lambda = await startLambda({ outdir: inject("outdir"), settingsOf });
});

afterAll(async () => {
  await dataApi.close();
  await sql.end();
  await admin`drop database ${identifier(database)} with (force)`;
  await admin.end();
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
    ["a statement", "ExecuteStatement"],
    ["a commit", "CommitTransaction"],
  ] as const)("fails when nobody hears of %s, repeats none, and goes on in the next run", async (_, operation) => {
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
    await admin`create role ${identifier(stranger)}`;
    await sql.query(`
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
    await admin`drop role ${identifier(stranger)}`;
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

  it("refuses an applied migration that was changed since", async () => {
    await sql`update migrations set checksum = 'other' where name = '01-names'`;

    expect(await migrate()).toMatchObject({
      error: { errorMessage: expect.stringMatching(/01-names.*changed after it had been applied/) },
    });
  });

  it("waits for a cluster that cannot run anything yet, whatever its error", async () => {
    const error = { kind: "error", status: 400, type: "SecretsErrorException" } as const;
    let refused = 0;
    dataApi.intercept(() => (refused++ < 5 ? error : undefined));

    const result = await migrate();

    dataApi.intercept(undefined);
    expect(result).toMatchObject({ error: { errorMessage: expect.stringContaining("01-names") } });
    expect(refused).toBeGreaterThan(5);
  });
});

describe("A migration of the next release", () => {
  const next = {
    name: "90-since",
    text: `
drop table publisher_relations;

create table publisher_relations (
  publisher_id bigint not null references publishers on delete cascade,
  relation_id bigint not null references publishers on delete cascade,
  since date,
  primary key (publisher_id, relation_id)
);
`,
  };

  it("finds its table recorded and tagged, by triggers that it does not name", async () => {
    await empty();
    await migrate();
    vi.resetModules();
    const runner = await import("../../../lib/migrations/migrate.ts");
    const triggers = () => sql`
      select tgname, tgrelid::regclass::text as table_name, xmin::text from pg_trigger
      where not tgisinternal and tgrelid::regclass::text <> 'publisher_relations'
      order by 1, 2
    `;
    const before = await triggers();

    expect(await runner.migrate([...migrations, next])).toEqual([next.name]);

    expect(await triggers()).toEqual(before);
    await sql`insert into publishers (name, slug) values ('A', 'a'), ('B', 'b')`;
    await sql`insert into publisher_relations values (2, 1, '1999-12-31')`;
    await sql`update publisher_relations set since = null`;
    const recorded = await sql`
      select owner::int, key, before, after from changed_rows where table_name = 'publisher_relations' order by change_id
    `;
    const since = { since: "1999-12-31" };
    expect(recorded).toEqual([
      { owner: 2, key: [2, 1], before: null, after: since },
      { owner: 2, key: [2, 1], before: since, after: { since: null } },
    ]);
    const tags = await sql`select tag from stale_tags group by transaction, tag order by transaction desc limit 2`;
    expect(tags).toEqual([{ tag: "publisher-2" }, { tag: "publisher-2" }]);
  });
});

describe("lib/changes/all.ts", () => {
  it("lists each file", async () => {
    const files = await readdir(join(import.meta.dirname, "../../../lib/changes"));
    const listed = scripts.map(({ path }) => path.replace("lib/changes/", ""));
    expect(listed.sort()).toEqual(files.filter((file) => file.endsWith(".sql")).sort());
  });
});
