import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { type DataApi, startDataApi } from "../../../infra/aws-local/data-api/server.ts";
import { type Lambda, startLambda } from "../../../infra/aws-local/lambda/lambda.ts";
import { defaultName as owner } from "../../../infra/local/database.ts";
import { settingsOf } from "../../../infra/local/functions.ts";
import { identifier, openDatabase } from "../../support/database.ts";
import { key, useDatabase } from "../../support/environment.ts";

const migrations = (await readdir(join(import.meta.dirname, "../../../lib/migrations/tables")))
  .filter((file) => file.endsWith(".sql"))
  .map((file) => file.replace(/\.sql$/, ""))
  .sort();

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

const migrate = () => lambda.invoke("ops-migrate", {});

describe("ops-migrate", () => {
  it("leaves nothing of a migration that failed, and names it", async () => {
    await sql`create table volumes (id int)`;

    const failed = await migrate();
    const [{ tables } = {}] =
      await sql`select count(*)::int as tables from pg_tables where tablename in ('series', 'series_aliases')`;
    await sql`drop table volumes`;

    expect(failed).toMatchObject({ error: { errorMessage: expect.stringContaining("Migration 0004-series failed") } });
    expect(tables).toBe(0);
  });

  it("fails instead of waiting for another session's lock", async () => {
    await sql.begin(async (other) => {
      await other`create table volumes (id int)`;

      expect(await migrate()).toMatchObject({
        error: { errorMessage: expect.stringMatching(/^Migration 0004-series failed: .*lock timeout/) },
      });
      await other`drop table volumes`;
    });
  });

  it("brings a database up to date, also when two run at once", async () => {
    await sql`drop schema public cascade`;
    await sql`create schema public authorization pg_database_owner`;

    const runs = await Promise.all([migrate(), migrate()]);

    expect(runs.filter((run) => "error" in run)).toEqual([]);
    const applied = runs.flatMap((run) => ("result" in run ? (run.result as { applied: string[] }).applied : []));
    expect(applied.sort()).toEqual(migrations);
    const ledger = await sql`select name from migrations order by name`;
    expect(ledger.map(({ name }) => name)).toEqual(migrations);
  });

  it("keeps the users of roles", async () => {
    await sql`drop schema public cascade`;
    await sql`create schema public authorization pg_database_owner`;
    await sql`create table holders (id int)`;
    expect(await migrate()).toMatchObject({
      error: { errorMessage: expect.stringContaining("Migration 0012-role-users failed") },
    });
    await sql`insert into users (username, slug) select 'Émile ' || n, 'emile-' || n from generate_series(1, 3) as n`;
    await sql`insert into roles (name) values ('Held')`;
    await sql`insert into user_roles (user_id, role_id) select users.id, roles.id from users, roles where users.id <> 2`;
    await sql`drop table holders`;

    expect(await migrate()).toMatchObject({ result: { applied: expect.arrayContaining(["0012-role-users"]) } });

    expect(
      await sql`
        select user_id::int, roles.name, held.username_key, held.registered = users.registered as alike
        from user_roles as held join roles on roles.id = role_id join users on users.id = user_id
        order by user_id, roles.id
      `,
    ).toEqual([
      { user_id: 1, name: "Reader", username_key: "emile 1", alike: true },
      { user_id: 1, name: "Held", username_key: "emile 1", alike: true },
      { user_id: 3, name: "Reader", username_key: "emile 3", alike: true },
      { user_id: 3, name: "Held", username_key: "emile 3", alike: true },
    ]);
  });

  it("compares names without joiners, unless two become the same, and takes control characters out of texts", async () => {
    await sql`drop schema public cascade`;
    await sql`create schema public authorization pg_database_owner`;
    await sql`create function without_joiners(value text) returns integer language sql return 1`;
    expect(await migrate()).toMatchObject({
      error: { errorMessage: expect.stringContaining("Migration 0016-joiners failed") },
    });
    await sql`drop function without_joiners`;
    for (const name of ["Eve", "Eve\u200d", "می\u200cخواهم", "葛\u{e0100}城"]) {
      await sql`insert into users (username, slug) values (${name}, 'user')`;
      await sql`insert into roles (name, description) values (${name}, ${`a\r\nb\rc\n\u0001\u0085\td`})`;
      await sql`insert into permissions (name, description) values (${name}, 'a')`;
      await sql`insert into contributors (first_name, last_name, slug) values ('A', ${name}, 'contributor')`;
      await sql`insert into contributors (first_name, slug) values (${name}, 'contributor')`;
    }

    expect(await migrate()).toMatchObject({
      error: {
        errorMessage: expect.stringContaining("Rename contributor 3, contributor 4, permission 2, role 3, user 2, and"),
      },
    });
    await sql`update users set username = 'Adam' where id = 2`;
    await sql`update roles set name = 'Adam' where id = 3`;
    await sql`update permissions set name = 'Adam' where id = 2`;
    await sql`update contributors set last_name = id || 'Adam' where id in (3, 4)`;

    expect(await migrate()).toMatchObject({ result: { applied: expect.arrayContaining(["0016-joiners"]) } });

    for (const name of ["میخواهم", "می\u200cخواهم", "葛城", "葛\u{e0101}城"]) {
      for (const insert of [
        () => sql`insert into users (username, slug) values (${name}, 'user')`,
        () => sql`insert into roles (name) values (${name})`,
        () => sql`insert into permissions (name) values (${name})`,
        () => sql`insert into contributors (first_name, last_name, slug) values ('A', ${name}, 'contributor')`,
        () => sql`insert into contributors (first_name, slug) values (${name}, 'contributor')`,
      ]) {
        await expect(insert()).rejects.toThrow("duplicate key value violates unique constraint");
      }
    }
    expect(await sql`select username_key from users order by id`).toEqual(
      ["eve", "adam", "میخواهم", "葛城"].map((username_key) => ({ username_key })),
    );
    const [role] = await sql`select description from roles where name = 'Eve'`;
    expect(role).toEqual({ description: "a\nb\nc\n\td" });
  });

  it("lets records be found by the aliases that they have, which changes nothing else", async () => {
    await sql`drop schema public cascade`;
    await sql`create schema public authorization pg_database_owner`;
    await sql`create function keep_alias_keys() returns integer language sql return 1`;
    expect(await migrate()).toMatchObject({
      error: { errorMessage: expect.stringContaining("Migration 0020-contributor-search failed") },
    });
    await sql`insert into contributors (first_name, slug) select 'C' || n, 'c' from generate_series(1, 20) as n`;
    await sql`insert into publishers (name, slug) select 'P' || n, 'p' from generate_series(1, 3) as n`;
    await sql`insert into series (name, slug) select 'S' || n, 's' from generate_series(1, 20) as n`;
    await sql`
      insert into contributor_aliases (contributor_id, name)
      select n, alias || n from generate_series(1, 18) as n, unnest(array['Émile ', 'Œ']) as alias
    `;
    await sql`insert into contributor_aliases (contributor_id, name) values (20, repeat('手', 200))`;
    await sql`insert into publisher_aliases (publisher_id, title, language) values (2, 'Zwö', 'German')`;
    await sql`insert into series_aliases (series_id, name, language) select n, 'Á', '' from generate_series(1, 19) as n`;
    const rest = () => sql`
      select 'tally ' || subject as what, tally from tallies
      union all
      select 'version ' || id, version from contributors
      order by what
    `;
    const before = await rest();
    await sql`drop function keep_alias_keys`;

    expect(await migrate()).toMatchObject({ result: { applied: expect.arrayContaining(["0023-series-search"]) } });

    const long = "手".repeat(200);
    expect(await sql`select id, alias_keys, short_alias_keys from contributors order by id`).toEqual([
      ...Array.from({ length: 18 }, (_, n) => ({
        id: n + 1,
        alias_keys: `emile ${n + 1}\noe${n + 1}`,
        short_alias_keys: `emile ${n + 1}\noe${n + 1}`,
      })),
      { id: 19, alias_keys: "", short_alias_keys: "" },
      { id: 20, alias_keys: long, short_alias_keys: null },
    ]);
    expect(await sql`select alias_keys from publishers order by id`).toEqual(
      ["", "zwo", ""].map((alias_keys) => ({ alias_keys })),
    );
    expect(await sql`select id from series where alias_keys <> 'a'`).toEqual([{ id: 20 }]);
    expect(await rest()).toEqual(before);
  });

  it("takes all but ids of deleted users out of the ledger", async () => {
    const [user] = await sql`insert into users (username, slug) values ('Here', 'here') returning id::int`;
    const row = (endpoint: string, caller: number, record: number) => sql`
      insert into changes (key, request_id, endpoint, caller_id, username, record_id, asked, before, answer)
      values (gen_random_uuid(), '', ${endpoint}, ${caller}, 'Name', ${record}, '1', '2', '3')
    `;
    await sql`delete from changes`;
    await row("admin-users/edit", user?.id, 987_654);
    await row("ops/create-user", 987_654, user?.id);
    await row("admin-roles/edit", 987_654, 987_654);
    await sql`delete from migrations where name = '0014-deleted-users'`;

    expect(await migrate()).toEqual({ result: { applied: ["0014-deleted-users"] } });

    expect(await sql`select username, asked, before, answer from changes order by id`).toEqual([
      { username: "Name", asked: null, before: null, answer: null },
      { username: null, asked: 1, before: 2, answer: 3 },
      { username: null, asked: 1, before: 2, answer: 3 },
    ]);
  });

  it.each([
    ["a statement", "ExecuteStatement"],
    ["a commit", "CommitTransaction"],
  ] as const)("fails when nobody hears of %s, repeats none, and goes on in the next run", async (_, operation) => {
    await sql`drop schema public cascade`;
    await sql`create schema public authorization pg_database_owner`;
    dataApi.calls.length = 0;
    const ofThisKind = () => dataApi.calls.filter((call) => call.operation === operation).length;
    dataApi.intercept((call) =>
      call.operation === operation && ofThisKind() === 5 ? { kind: "drop-after" } : undefined,
    );

    expect(await migrate()).toMatchObject({ error: { errorMessage: expect.stringContaining("socket hang up") } });
    expect(ofThisKind()).toBe(5);
    dataApi.intercept(undefined);

    expect(await migrate()).toMatchObject({ result: { applied: expect.arrayContaining([migrations.at(-1)]) } });
    expect(await sql`select name from migrations order by name`).toEqual(migrations.map((name) => ({ name })));
  });

  it("changes nothing the second time", async () => {
    expect(await migrate()).toEqual({ result: { applied: [] } });
  });

  it("waits for another run longer than a request waits for a statement", async () => {
    const { promise: isHeld, resolve: hold } = Promise.withResolvers<void>();
    const other = sql.begin(async (run) => {
      await run`select pg_advisory_xact_lock(4702135)`;
      hold();
      await run`select pg_sleep(9)`;
    });
    await isHeld;

    expect(await migrate()).toEqual({ result: { applied: [] } });
    await other;
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

  it("grants and revokes no rights to what others have created in the schema", async () => {
    const stranger = `stranger_${process.pid}`;
    await admin`create role ${identifier(stranger)}`;
    await sql.query(`
      create table closed (id int);
      create table open (id int);
      create table ours (id int);
      create function closed() returns int language sql return 1;
      create function ours() returns int language sql return 1;
      grant select on open, ours to public;
      revoke execute on function closed from public;
      alter table closed owner to ${stranger};
      alter table open owner to ${stranger};
      alter table ours owner to ${owner};
      alter function closed owner to ${stranger};
      alter function ours owner to ${owner}
    `);
    const rights = () => sql`
      select relname, relacl::text as acl from pg_class where relname in ('closed', 'open', 'ours')
      union all
      select proname || '()', proacl::text from pg_proc where proname in ('closed', 'ours')
      order by 1
    `;
    const before = await rights();

    const outcome = await migrate();

    expect(outcome).toEqual({ result: { applied: [] } });
    expect(await rights()).toEqual(before);
    await sql`drop table closed, open, ours`;
    await sql`drop function closed, ours`;
    await admin`drop role ${identifier(stranger)}`;
  });

  it("fails when an applied migration was changed", async () => {
    await sql`update migrations set checksum = 'other' where name = '0001-names'`;

    expect(await migrate()).toMatchObject({
      error: { errorMessage: expect.stringMatching(/0001-names.*changed after it had been applied/) },
    });
  });

  it.each([
    [
      "resumes from auto-pause",
      "DatabaseResumingException",
      "The Aurora DB instance is resuming after being auto-paused.",
    ],
    ["has no writer yet", "BadRequestException", "Communications link failure"],
    ["has no endpoint yet", "HttpEndpointNotEnabledException", "HttpEndpoint is not enabled for the cluster"],
    ["has no secret yet", "SecretsErrorException", "The secret cannot be read"],
  ])("waits for a cluster that %s", async (_, type, message) => {
    let refused = 0;
    dataApi.intercept(() => (refused++ < 5 ? { kind: "error", status: 400, type, message } : undefined));

    const answer = await migrate();

    dataApi.intercept(undefined);
    expect(answer).toMatchObject({ error: { errorMessage: expect.stringContaining("0001-names") } });
    expect(refused).toBeGreaterThan(5);
  });
});

describe("lib/changes/all.ts", () => {
  it("calls each file by its name, so that an error names the right one", async () => {
    const folder = join(import.meta.dirname, "../../../lib/changes");
    const list = await readFile(join(folder, "all.ts"), "utf8");
    const imports = [...list.matchAll(/^import (\w+) from "\.\/([\w-]+)\.sql";$/gm)];

    const unlike = imports.filter(([, variable, file = ""]) => {
      const name = file.replaceAll("-", "_");
      return !new RegExp(`^  ${name === variable ? name : `${name}: ${variable}`},$`, "m").test(list);
    });

    expect(unlike).toEqual([]);
    expect(imports.map(([, , file]) => `${file}.sql`).sort()).toEqual(
      (await readdir(folder)).filter((file) => file.endsWith(".sql")).sort(),
    );
  });
});
