import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { avatars } from "../../../../infra/local/demo/avatars.ts";
import { loadDemo, readDemo } from "../../../../infra/local/demo/load.ts";
import { validTokens } from "../../../../infra/local/demo/tokens.ts";
import type { Contributor } from "../../../../infra/local/demo/types.ts";
import { identifier, openDatabase, type Sql } from "../../../support/database.ts";

const name = `demo_${process.pid}`;
const url = `${inject("databaseUrl")}/${name}`;
const admin = openDatabase(`${inject("databaseUrl")}/postgres`, { max: 1 });
let sql: Sql;

beforeAll(async () => {
  await admin`create database ${identifier(name)} template blank`;
  sql = openDatabase(url, { max: 1 });
  await loadDemo(url, { users: false });
});

afterAll(async () => {
  await sql.end();
  await admin`drop database ${identifier(name)}`;
  await admin.end();
});

describe("The demo data", () => {
  it("can be loaded without users, whose tokens are known", async () => {
    expect(await validTokens(url)).toEqual([]);
    expect(await sql`select from users union all select from refresh_tokens`).toHaveLength(0);
    expect((await sql`select from contributors`).length).toBeGreaterThan(0);
  });

  it("have avatars that are drawn", async () => {
    const keys = new Set(avatars(await readDemo<Contributor>("contributors")).map(([key]) => key));

    const loaded = await sql`select image from contributors where image is not null`;

    expect(new Set(loaded.map(({ image }) => image))).toEqual(keys);
  });

  it("have shared series of a contributor and of a publisher that only one client may see", async () => {
    const contributors = await sql`
      select contributors.slug
      from
        series
        join series_contributors on series_id = series.id
        join contributors on contributors.id = contributor_id
      where series.client_id is null and contributors.client_id = 2
    `;
    const publishers = await sql`
      select publishers.slug
      from
        series
        join series_publishers on series_id = series.id
        join publishers on publishers.id = publisher_id
      where series.client_id is null and publishers.client_id = 2
    `;

    expect(contributors).toContainEqual({ slug: "mary-shelley" });
    expect(publishers).toContainEqual({ slug: "heyne-verlag" });
  });
});
