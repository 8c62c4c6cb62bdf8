import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { withConnection } from "../../../infra/aws-local/postgres/connection.ts";
import { loadDemo } from "../../../infra/local/demo/load.ts";
import { scale } from "../../../infra/local/demo/scale.ts";
import { renewTokens } from "../../../infra/local/demo/users.ts";
import { identifier, openDatabase, type Sql } from "../../support/database.ts";
import { createDatabase } from "../../support/own-database.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();
const urlOf = () => `${inject("databaseUrl")}/${process.env.DATABASE_NAME}`;

it("The demo data can be loaded without users, whose tokens are known", async () => {
  await loadDemo(stack.lambda, urlOf(), { users: false });

  await stack.sql`insert into users (username, slug) values ('editor', 'editor')`;

  // A user of that name is not a demo user.
  expect(await withConnection(urlOf(), (client) => renewTokens(client, "http://localhost/provider"))).toEqual([]);
  expect(await stack.sql`select from refresh_tokens`).toHaveLength(0);
  expect(await stack.sql`select from identities`).toHaveLength(0);
  expect((await stack.sql`select from contributors`).length).toBeGreaterThan(0);
});

describe("scale", () => {
  let url: string;
  let db: Sql;

  beforeAll(async () => {
    url = `${inject("databaseUrl")}/${await createDatabase("demo")}`;
    db = openDatabase(url, { max: 1 });
  });

  afterAll(() => db.end());

  const countOf = async (table: string) => Number((await db`select count(*) from ${identifier(table)}`)[0]?.count);

  it("adds the given number each time, with aliases, series, volumes and publishers", async () => {
    const tables = ["contributors", "contributor_aliases", "series", "volumes", "publishers", "series_publishers"];
    const counts = async () => await Promise.all(tables.map(countOf));
    const before = await counts();

    await scale(url, 400);
    await scale(url, 400);

    const added = (await counts()).map((count, index) => count - (before[index] ?? 0));
    expect(added).toEqual([800, 80, 400, 400, 8, 400]);
    const withoutSeries = await db`
      select from contributors
      where slug like 'made-up-%' and not exists (select from series_contributors where contributor_id = contributors.id)
    `;
    expect(withoutSeries).toHaveLength(0);
  });

  it("leaves out a contributor whose name is taken, and counts them exactly", async () => {
    const [taker] = await db`insert into contributors (first_name, slug) values ('Taker', 'taker') returning id`;
    await scale(url, 10);
    const [made] = await db`delete from contributors where id > ${taker?.id} returning first_name, last_name`;
    await db`update contributors set first_name = ${made?.first_name}, last_name = ${made?.last_name} where id = ${taker?.id}`;
    const before = await countOf("contributors");

    await scale(url, 2_000);
    const [total] = await db`select sum(total) from counters where subject = 'contributors'`;

    expect(await countOf("contributors")).toBe(before + 1_999);
    expect(Number(total?.sum)).toBe(before + 1_999);
  });
});
