import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { scale } from "../../../../infra/local/demo/scale.ts";
import { identifier, openDatabase } from "../../../support/database.ts";

const database = `scale_${randomUUID().replaceAll("-", "")}`;
const url = `${inject("databaseUrl")}/${database}`;
const admin = openDatabase(`${inject("databaseUrl")}/postgres`, { max: 1 });
const db = openDatabase(url, { max: 1 });

beforeAll(async () => {
  await admin`create database ${identifier(database)} template demo`;
});

afterAll(async () => {
  await db.end();
  await admin`drop database ${identifier(database)} with (force)`;
  await admin.end();
});

const countOf = async (table: string) => Number((await db`select count(*) from ${identifier(table)}`)[0]?.count);

describe("scale", () => {
  it("adds the given number each time, with aliases, series, volumes and publishers", async () => {
    const tables = ["contributors", "contributor_aliases", "series", "volumes", "publishers", "series_publishers"];
    const counts = async () => await Promise.all(tables.map(countOf));
    const before = await counts();

    await scale(url, 400);
    await scale(url, 400);

    const added = (await counts()).map((count, index) => count - (before[index] ?? 0));
    expect(added).toEqual([800, 80, 400, 400, 8, 400]);
    expect(
      await db`
      select from contributors
      where slug like 'made-up-%' and not exists (select from series_contributors where contributor_id = contributors.id)
    `,
    ).toHaveLength(0);
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
