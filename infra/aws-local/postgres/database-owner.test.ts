import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createOwnedDatabase } from "./database-owner.ts";
import { type Postgres, startPostgres } from "./server.ts";

let directory: string;
let server: Postgres;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "aws-local-owner-"));
  server = await startPostgres({ directory: join(directory, "postgres"), durable: false });
});

afterAll(async () => {
  await server.stop();
  await rm(directory, { recursive: true });
});

/** Runs statements in a database. Returns the rows of the last one. */
async function run(serverUrl: string, database: string, ...statements: string[]): Promise<unknown> {
  const client = new Client(`${serverUrl}/${database}`);
  await client.connect();
  try {
    let rows: unknown;
    for (const statement of statements) rows = (await client.query(statement)).rows;
    return rows;
  } finally {
    await client.end();
  }
}

describe("The database's owner", () => {
  it("can make what migrations make, roles included, and is no superuser", async () => {
    const url = await createOwnedDatabase(server.url, "fresh", "colophon");

    const role = await run(
      url,
      "fresh",
      "create extension pg_trgm",
      "create schema changes_1",
      "create table public.things (name text)",
      "create role colophon_public login",
      "grant select on things to colophon_public",
      "select rolsuper, rolcreaterole, rolcreatedb from pg_roles where rolname = current_user",
    );

    expect(role).toEqual([{ rolsuper: false, rolcreaterole: true, rolcreatedb: false }]);
  });

  it("reaches neither programs nor files", async () => {
    const url = await createOwnedDatabase(server.url, "shut", "colophon");

    for (const statement of [
      "copy (select 1) to program 'true'",
      `copy (select 1) to '${join(directory, "written")}'`,
      "select pg_read_file('postgresql.conf')",
      "set role postgres",
      "alter role colophon superuser",
      "alter system set archive_command = 'true'",
    ])
      await expect(run(url, "shut", statement), statement).rejects.toThrow(/permission denied/);
    await expect(run(url, "postgres", "select 1")).rejects.toThrow("permission denied for database");
  });

  it("has a new password at each start", async () => {
    const earlier = await createOwnedDatabase(server.url, "again", "colophon");
    const now = await createOwnedDatabase(server.url, "again", "colophon");

    expect(await run(now, "again", "select 1 as one")).toEqual([{ one: 1 }]);
    await expect(run(earlier, "again", "select 1")).rejects.toThrow("password authentication failed");
  });
});
