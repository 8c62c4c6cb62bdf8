import postgres from "postgres";
import { expect, inject, it } from "vitest";
import { loadDemo } from "../../../../infra/local/demo/load.ts";
import { validTokens } from "../../../../infra/local/demo/tokens.ts";

it("The demo data can be loaded without users, whose tokens are known", async () => {
  const name = `demo_${process.pid}`;
  const admin = postgres(`${inject("databaseUrl")}/postgres`, { max: 1 });
  await admin`create database ${admin(name)} template blank`;
  const url = `${inject("databaseUrl")}/${name}`;
  const sql = postgres(url, { max: 1 });

  await loadDemo(url, { users: false });

  expect(await validTokens(url)).toEqual([]);
  expect(await sql`select from users union all select from refresh_tokens`).toHaveLength(0);
  expect((await sql`select from contributors`).length).toBeGreaterThan(0);
  await sql.end();
  await admin`drop database ${admin(name)}`;
  await admin.end();
});
