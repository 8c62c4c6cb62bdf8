import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ExecuteStatementCommand } from "@aws-sdk/client-rds-data";
import postgres, { type Sql } from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startDataApi } from "../../../../infra/aws-local/data-api/server.ts";
import { createOwnedDatabase } from "../../../../infra/aws-local/postgres/owner.ts";
import type { Postgres } from "../../../../infra/aws-local/postgres/server.ts";
import { startEmptyPostgres } from "../../../support/empty-cluster.ts";
import { key } from "../../../support/environment.ts";
import { clientOf, resourceArn, secretArn } from "../data-api/emulator.ts";

let directory: string;
let server: Postgres;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "colophon-owner-"));
  server = await startEmptyPostgres({ directory: join(directory, "postgres"), durable: false });
});

afterAll(async () => {
  await server.stop();
  await rm(directory, { recursive: true });
});

async function as<Result>(serverUrl: string, database: string, work: (sql: Sql) => Promise<Result>): Promise<Result> {
  const sql = postgres(`${serverUrl}/${database}`, { max: 1, onnotice: () => {} });
  try {
    return await work(sql);
  } finally {
    await sql.end();
  }
}

describe("The database's owner", () => {
  it("can make what migrations make, roles included, and is no superuser", async () => {
    const url = await createOwnedDatabase(server.url, "fresh");

    await as(url, "fresh", async (sql) => {
      await sql`create extension pg_trgm`;
      await sql`create schema changes_1`;
      await sql`create table public.things (name text)`;
      await sql`create role colophon_public login`;
      await sql`grant select on things to colophon_public`;
      expect(await sql`select rolsuper, rolcreaterole, rolcreatedb from pg_roles where rolname = current_user`).toEqual(
        [{ rolsuper: false, rolcreaterole: true, rolcreatedb: false }],
      );
    });
  });

  it("reaches neither programs nor files by the Data API", async () => {
    const url = await createOwnedDatabase(server.url, "shut");
    const dataApi = await startDataApi({ databaseUrl: url, key });
    const execute = (sql: string) =>
      clientOf(dataApi.url).send(new ExecuteStatementCommand({ resourceArn, secretArn, database: "shut", sql }));
    const file = join(directory, "written");

    for (const sql of [
      `copy (select 1) to program 'touch ${file}'`,
      `copy (select 1) to '${file}'`,
      "select pg_read_file('postgresql.conf')",
      "set role postgres",
      "alter role colophon superuser",
      "alter system set archive_command = 'true'",
    ])
      await expect(execute(sql), sql).rejects.toThrow(/permission denied.*SQLState: 42501/);
    expect(existsSync(file)).toBe(false);
    await dataApi.close();
  });

  it("becomes the owner of what a superuser created before", async () => {
    await as(server.url, "postgres", (sql) => sql`create database before`);
    await as(server.url, "before", async (sql) => {
      await sql`create extension pg_trgm`;
      await sql`create schema changes_1`;
      await sql`create table things (id int generated always as identity, name text)`;
      await sql`create index on things using gin (name gin_trgm_ops)`;
      await sql`create view named as select * from things`;
      await sql`create type changes_1.outcome as (status int)`;
      await sql`create function changes_1.done() returns changes_1.outcome language sql return null::changes_1.outcome`;
      await sql`insert into things (name) values ('kept')`;
    });

    const url = await createOwnedDatabase(server.url, "before");

    await as(url, "before", async (sql) => {
      await sql`create extension if not exists pg_trgm`;
      await sql`alter table things add column added int`;
      await sql`create or replace view named as select *, 1 as one from things`;
      await sql`insert into things (name) values ('new')`;
      expect(await sql`select name from things order by id`).toEqual([{ name: "kept" }, { name: "new" }]);
      await sql`drop schema changes_1 cascade`;
      await sql`create table more ()`;
    });
  });

  it("has a new password at each start", async () => {
    const earlier = await createOwnedDatabase(server.url, "again");
    const now = await createOwnedDatabase(server.url, "again");

    expect(await as(now, "again", (sql) => sql`select 1 as one`)).toEqual([{ one: 1 }]);
    await expect(as(earlier, "again", (sql) => sql`select 1`)).rejects.toThrow("password authentication failed");
  });
});
