import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { raw } from "sql-template-tag";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { type Lambda, startLambda } from "../../../infra/aws-local/lambda/lambda.ts";
import { defaultName as owner } from "../../../infra/local/database.ts";
import { loadDemo } from "../../../infra/local/demo/load.ts";
import { settingsOf } from "../../../infra/local/stage/functions.ts";
import { identifier, openDatabase, type Sql } from "../../support/database.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack({ from: "demo" });

describe.each([
  // å, ä and ö come behind z, v and w are alike, and the locale of the operating system knows letters of ASCII alone.
  { what: "sorts as Swedes do", locale: "locale 'C' locale_provider icu icu_locale 'sv'" },
  { what: "knows letters of ASCII alone", locale: "locale 'C' locale_provider libc" },
])("A database that $what", ({ locale }) => {
  const database = `locale_${randomUUID().replaceAll("-", "")}`;
  let other: Lambda;
  let sql: Sql;

  beforeAll(async () => {
    const admin = openDatabase(`${inject("databaseUrl")}/postgres`, { max: 1 });
    await admin`
      create database ${identifier(database)} owner ${identifier(owner)} template template0 encoding 'UTF8' ${raw(locale)}
    `;
    await admin.end();
    const variables = { ...process.env, DATABASE_NAME: database };
    other = await startLambda({ outdir: inject("outdir"), settingsOf, variables });
    await other.invoke("ops-migrate", {});
    const url = `${inject("ownerUrl")}/${database}`;
    await loadDemo(other, url);
    sql = openDatabase(url);
  });

  afterAll(() => Promise.all([other.close(), sql.end()]));

  it.each([
    { what: "contributors by name", list: "contributors-list", query: { client: "1" } },
    { what: "contributors by name, backwards", list: "contributors-list", query: { client: "2", order: "name-desc" } },
    { what: "contributors by sort name", list: "contributors-list", query: { client: "2", order: "sort-name-asc" } },
    { what: "what Ö finds", list: "contributors-list", query: { client: "1", search: "Ö" } },
    { what: "what W finds", list: "contributors-list", query: { client: "1", search: "W" } },
    { what: "what Lé finds", list: "contributors-list", query: { client: "2", search: "Lé" } },
    { what: "what an ideograph finds", list: "contributors-list", query: { client: "1", search: "手" } },
    { what: "what two ideographs find", list: "contributors-list", query: { client: "1", search: "手塚" } },
    { what: "publishers by name", list: "publishers-list", query: { order: "name-asc" } },
    { what: "publishers that É finds", list: "publishers-list", query: { search: "É" } },
  ])("lists $what as others do", async ({ list, query }) => {
    const ids = await idsFrom(other, list, query);

    expect(ids).toEqual(await idsFrom(stack.lambda, list, query));
    expect(ids.length).toBeGreaterThan(0);
  });

  it("makes the same keys of names, and splits them alike", async () => {
    const names = fc.sample(fc.string({ unit: fc.oneof(letter, fc.constantFrom(..." ,.-'1")), maxLength: 30 }), 2000);
    const keysIn = (database: Sql) => database`
      select
        name_key(name), search_key(name), sort_key(name), identity_key(name), grams(search_key(name)),
        searched_grams(name), searched_patterns(name), domain_of('https://' || name || '.example/')
      from unnest(${names}::text[]) with ordinality as names (name, position)
      order by position
    `;

    expect(await keysIn(sql)).toEqual(await keysIn(stack.sql));
  });
});

/** Letters of many scripts, with their marks and capitals. */
const letter = fc
  .oneof(
    ...[
      [0x41, 0x24f],
      [0x300, 0x36f],
      [0x370, 0x58f],
      [0x591, 0x6ff],
      [0x900, 0xdff],
      [0xe00, 0xfff],
    ].map(between),
    ...[
      [0x10a0, 0x137f],
      [0x1780, 0x17dd],
      [0x1e00, 0x1fff],
      [0x3041, 0x30ff],
      [0x4e00, 0x9fff],
    ].map(between),
    ...[
      [0xac00, 0xd7a3],
      [0xfb00, 0xfdff],
      [0xff01, 0xffdc],
      [0x10400, 0x1044f],
    ].map(between),
  )
  .map((code) => String.fromCodePoint(code));

function between([min, max]: readonly number[]) {
  return fc.integer({ min: min ?? 0, max: max ?? 0 });
}

/** The ids of a list. */
async function idsFrom(lambda: Lambda, name: string, queryStringParameters: object): Promise<number[]> {
  const requestContext = { requestId: randomUUID() };
  const event = { httpMethod: "GET", path: "/", headers: {}, queryStringParameters, body: null, requestContext };
  const invocation = await lambda.invoke(name, event);
  expect(invocation).toMatchObject({ result: { statusCode: 200 } });
  const { body } = (invocation as { result: unknown }).result as { body: string };
  const { contributors, publishers } = JSON.parse(body);
  return (contributors ?? publishers).map(({ id }: { id: number }) => id);
}
