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

/** All that a table is but its rows: the names and definitions of its indexes and constraints. */
const structure = () => db`
  select indexdef as definition from pg_indexes where schemaname = 'public'
  union all
  select conrelid::regclass || conname || pg_get_constraintdef(oid) from pg_constraint where convalidated
  union all
  select tgrelid::regclass || tgname || tgenabled::text from pg_trigger where not tgisinternal
  order by definition
`;

const countOf = async (table: string) => Number((await db`select count(*) from ${identifier(table)}`)[0]?.count);

describe("scale", () => {
  it("adds the given number each time, and keeps indexes and constraints", async () => {
    const before = { structure: await structure(), contributors: await countOf("contributors") };

    await scale(url, 400, () => undefined);
    await scale(url, 400, () => undefined);

    expect(await countOf("contributors")).toBe(before.contributors + 800);
    expect(await structure()).toEqual(before.structure);
  });

  it("gives every tenth a pen name, with the key that triggers would keep", async () => {
    const penNames = () => db`
      select id, alias_keys from contributors where slug like 'made-up-%' and alias_keys <> '' order by id
    `;
    const made = await penNames();
    await db`update contributors set alias_keys = ''`;
    await db`update contributor_aliases set name = name`;

    expect(made).toHaveLength(80);
    expect(await penNames()).toEqual(made);
  });

  it("leaves out a contributor whose name is taken, and counts them exactly", async () => {
    const [taker] = await db`insert into contributors (first_name, slug) values ('Taker', 'taker') returning id`;
    await scale(url, 10, () => undefined);
    const [made] = await db`delete from contributors where id > ${taker?.id} returning first_name, last_name`;
    await db`update contributors set first_name = ${made?.first_name}, last_name = ${made?.last_name} where id = ${taker?.id}`;
    const before = await countOf("contributors");

    await scale(url, 2_000, () => undefined);
    const [total] = await db`select sum(total) from counters where subject = 'contributors'`;

    expect(await countOf("contributors")).toBe(before + 1_999);
    expect(Number(total?.sum)).toBe(before + 1_999);
  });
});
