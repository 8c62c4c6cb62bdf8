import { setTimeout as sleep } from "node:timers/promises";
import { DeleteObjectCommand } from "@aws-sdk/client-s3";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { transferBucket } from "../../../infra/local/stage/functions.ts";
import { aContributor, aPublisher, aSeries } from "../../support/catalogue.ts";
import {
  type Exported,
  exportedText,
  exportFrom,
  linesOf,
  recordOf,
  s3Of,
  transferKeys,
} from "../../support/exports.ts";
import { startStack, useStack } from "../../support/stack.ts";

const stack = useStack({ uploads: true });
const exportTo = (payload?: object) => exportFrom(stack, payload);
const textOf = (exported: Exported) => exportedText(stack, exported);
const keys = () => transferKeys(stack);

const transactions = () =>
  stack.sql`
    select pid from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'
  `;

/** The last request about an upload in parts. */
const lastOfUpload = () => stack.s3?.requests.findLast((each) => /[?&]upload(?:s|Id)\b/.test(each));

beforeEach(async () => {
  await stack.sql`truncate contributors, publishers, series, tags restart identity cascade`;
  const files = await keys();
  for (const Key of files) await s3Of(stack).send(new DeleteObjectCommand({ Bucket: transferBucket, Key }));
  stack.s3?.requests.splice(0);
});

afterEach(() => {
  stack.dataApi.intercept(undefined);
  stack.s3?.intercept(undefined);
});

describe("ops-export", () => {
  it("writes a record with everything that it has, and leaves out what is empty or as in a new record", async () => {
    const publisher = await aPublisher(stack.sql, { name: "House", slug: "house", external_id: "isni:1" });
    await aPublisher(stack.sql, {
      name: "Imprint",
      short_name: "Imp",
      slug: "imprint",
      country: "Japan",
      website: "https://imprint.example.com",
      headquarter: "Tokyo",
      founding_date: "1909-12-31",
      image: "houses/imprint.webp",
      image_source: "Wikipedia",
      client_id: 2,
    });
    await stack.sql`insert into publisher_aliases (publisher_id, title, language) values (1, 'Haus', 'German')`;
    await stack.sql`
      insert into publisher_descriptions (publisher_id, language, description, source) values (1, 'English', 'Old', 'A')
    `;
    await stack.sql`insert into publisher_relations (publisher_id, relation_id, type) values (1, 2, 'imprint')`;
    const author = await aContributor(stack.sql, { first_name: "Ann", slug: "ann", public: false, last_name: "" });
    await aContributor(stack.sql, {
      first_name: "Bob",
      last_name: '"\\\u2028😀',
      slug: "bob",
      gender: "male",
      type: "author",
      image: "avatars/bob.webp",
      client_id: 1,
    });
    await stack.sql`
      insert into contributor_links (contributor_id, position, url)
      values (2, 1, 'https://b.example.com'), (2, 0, 'https://a.example.com')
    `;
    await stack.sql`insert into contributor_aliases (contributor_id, name) values (2, 'B'), (2, 'A')`;
    await stack.sql`
      insert into contributor_descriptions (contributor_id, language, description) values (2, 'English', ${'a\nb\t"c"'})
    `;
    // Twice the same, and back.
    await stack.sql`
      insert into contributor_relations (contributor_id, relation_id, relation_type)
      values (2, 1, 'spouse'), (2, 1, 'spouse'), (1, 2, 'spouse'), (2, 1, 'pupil')
    `;
    await aSeries(stack.sql, { by: author, from: publisher }, { name: "Series", slug: "series" });
    await stack.sql`insert into series_contributors (series_id, contributor_id, role) values (1, 2, 'artist')`;
    await stack.sql`insert into tags (name) values ('b'), ('a'), ('unused')`;
    await stack.sql`insert into series_tags (series_id, tag_id) values (1, 1), (1, 2)`;
    await stack.sql`insert into series_aliases (series_id, name, language) values (1, 'Reihe', 'German')`;
    await stack.sql`
      insert into series_descriptions (series_id, language, description) values (1, 'English', 'About it')
    `;
    await stack.sql`
      insert into volumes (series_id, number, cover, aspect_ratio, nsfw, nsfw18)
      values (1, 2, null, default, 0, 0), (1, -1, 'covers/1.webp', 0.1, 1, 1)
    `;

    const exported = await exportTo();

    expect((await textOf(exported)).split("\n")).toEqual([
      '{"kind":"client","id":1,"name":"First"}',
      '{"kind":"client","id":2,"name":"Second"}',
      '{"kind":"publisher","externalId":"isni:1","slug":"house","name":"House","aliases":[{"title":"Haus","language":"German"}],"descriptions":[{"language":"English","description":"Old","source":"A"}]}',
      '{"kind":"publisher","externalId":"slug:imprint","slug":"imprint","client":2,"name":"Imprint","short_name":"Imp","country":"Japan","website":"https://imprint.example.com","headquarter":"Tokyo","founding_date":"1909-12-31","image":"houses/imprint.webp","image_source":"Wikipedia"}',
      '{"kind":"publisher-relation","from":"isni:1","to":"slug:imprint","type":"imprint"}',
      '{"kind":"contributor","externalId":"slug:ann","slug":"ann","first_name":"Ann"}',
      '{"kind":"contributor","externalId":"slug:bob","slug":"bob","client":1,"public":true,"first_name":"Bob","last_name":"\\"\\\\\u2028😀","gender":"male","type":"author","image":"avatars/bob.webp","links":["https://a.example.com","https://b.example.com"],"aliases":["B","A"],"descriptions":[{"language":"English","description":"a\\nb\\t\\"c\\""}]}',
      '{"kind":"contributor-relation","from":"slug:bob","to":"slug:ann","relation_type":"spouse"}',
      '{"kind":"contributor-relation","from":"slug:ann","to":"slug:bob","relation_type":"spouse"}',
      '{"kind":"contributor-relation","from":"slug:bob","to":"slug:ann","relation_type":"pupil"}',
      '{"kind":"series","externalId":"slug:series","slug":"series","name":"Series","tags":["a","b"],"aliases":[{"name":"Reihe","language":"German"}],"descriptions":[{"language":"English","description":"About it"}],"volumes":[{"number":-1,"cover":"covers/1.webp","aspect_ratio":0.1,"nsfw":1,"nsfw18":1},{"number":2}],"contributors":[{"contributor":"slug:ann"},{"contributor":"slug:bob","role":"artist"}],"publishers":["isni:1"]}',
      "",
    ]);
    expect(exported).toEqual({
      target: expect.stringMatching(/^s3:\/\/transfers\/exports\/all-[\dTZ.-]+\.jsonl$/),
      lines: { client: 2, publisher: 2, "publisher-relation": 1, contributor: 2, "contributor-relation": 3, series: 1 },
      leftOut: 0,
      bytes: Buffer.byteLength(await textOf(exported)),
    });
  });

  it("writes what belongs to a client's website, and no reference to what does not", async () => {
    const own = await aContributor(stack.sql, { slug: "own", client_id: 1, public: false });
    const shared = await aContributor(stack.sql, { slug: "shared" });
    const other = await aContributor(stack.sql, { slug: "other", client_id: 2 });
    const house = await aPublisher(stack.sql, { slug: "house", client_id: 2 });
    for (const [from, to] of [[own, shared], [shared, other], [other, shared]] as const) // biome-ignore format: pairs
      await stack.sql`
        insert into contributor_relations (contributor_id, relation_id, relation_type) values (${from.id}, ${to.id}, 'friend')
      `;
    const series = await aSeries(stack.sql, { by: other, from: house }, { slug: "shared-series" });
    await stack.sql`insert into series_contributors (series_id, contributor_id) values (${series.id}, ${own.id})`;
    await aSeries(stack.sql, {}, { slug: "other-series", client_id: 2 });

    const exported = await exportTo({ client: 1 });

    const lines = linesOf(await textOf(exported));
    expect(lines.map(recordOf)).toEqual([
      "client 1",
      "contributor slug:own",
      "contributor slug:shared",
      undefined,
      "series slug:shared-series",
    ]);
    expect(lines[3]).toMatchObject({ from: "slug:own", to: "slug:shared" });
    expect(lines[4]).toMatchObject({ contributors: [{ contributor: "slug:own" }] });
    expect(lines[4]).not.toHaveProperty("publishers");
    expect(exported).toMatchObject({ leftOut: 4, lines: { client: 1, publisher: 0, contributor: 2, series: 1 } });
    expect(exported.target).toMatch(/exports\/client-1-/);
  });

  it("shows one moment, whatever is changed meanwhile", async () => {
    for (let number = 0; number < 1_200; number++) await aContributor(stack.sql, { slug: `c-${number}` });
    const before = await textOf(await exportTo());
    let statements = 0;
    stack.dataApi.intercept(async ({ operation }) => {
      if (operation !== "ExecuteStatement" || ++statements < 4) return undefined;
      await stack.sql`update contributors set first_name = first_name || ' ' || ${statements}::int`;
      await stack.sql`delete from contributors where id in (select id from contributors order by id desc limit 5)`;
      await aPublisher(stack.sql);
      await aSeries(stack.sql);
      return undefined;
    });

    const during = await textOf(await exportTo());

    expect(statements).toBeGreaterThan(8);
    expect(during).toBe(before);
    stack.dataApi.intercept(undefined);
    expect(await textOf(await exportTo())).not.toBe(before);
  });

  it("writes a record that exceeds a result of the Data API", async () => {
    const { id } = await aContributor(stack.sql, { slug: "long" });
    await aContributor(stack.sql, { slug: "short" });
    await stack.sql`
      insert into contributor_descriptions (contributor_id, language, description)
      select ${id}, 'English', repeat('ü漢', 10000) from generate_series(1, 40)
    `;

    const lines = linesOf(await textOf(await exportTo()));

    expect(lines.map(recordOf)).toEqual(["client 1", "client 2", "contributor slug:long", "contributor slug:short"]);
    const description = { language: "English", description: "ü漢".repeat(10_000), source: "" };
    expect(lines[2]).toMatchObject({ descriptions: Array(40).fill(description) });
  });

  it("writes to a given key", async () => {
    const target = `s3://${transferBucket}/exports/before the move.jsonl`;

    expect(await exportTo({ target })).toMatchObject({ target });

    expect(await keys()).toEqual(["exports/before the move.jsonl"]);
  });

  it("fails for a missing client and an invalid payload, and writes nothing", async () => {
    await expect(exportTo({ client: 3 })).rejects.toThrow("There is no client 3");
    await expect(exportTo({ target: "https://example.com" })).rejects.toThrow("target");
    await expect(exportTo({ clients: 1 })).rejects.toThrow("clients");

    expect(await keys()).toEqual([]);
  });
});

/** Lines of 16 MB, which are uploaded in four parts. */
const addLongDescriptions = () => stack.sql`
  with people as (
    insert into contributors (first_name, slug) select 'Ann ' || n, 'ann-' || n from generate_series(1, 800) as n returning id
  )
  insert into contributor_descriptions (contributor_id, language, description)
  select id, 'English', repeat('Once upon a time ', 1176) from people
`;

describe("An export of several parts", () => {
  beforeEach(addLongDescriptions);

  it("is one file in the end", async () => {
    const exported = await exportTo();

    expect(exported.bytes).toBeGreaterThan(15_000_000);
    expect(linesOf(await textOf(exported))).toHaveLength(802);
    expect(lastOfUpload()).toMatch(/^POST .*uploadId=/);
  });

  it.each([
    ["a statement fails", () => failStatement(20)],
    ["the upload of a part fails", () => failUpload("partNumber=3")],
    ["its completion fails", () => failUpload("POST /transfers/exports/[^?]*\\?uploadId")],
  ])("leaves nothing at its key and nothing open when %s", async (_, fail) => {
    fail();

    await expect(exportTo()).rejects.toThrow();

    expect(await keys()).toEqual([]);
    expect(lastOfUpload()).toMatch(/^DELETE .*uploadId=/);
    expect(await transactions()).toEqual([]);
  });

  it("says that it does not fit into a function's time, and leaves nothing", async () => {
    // Of its time the function reserves the last 35 s.
    const slow = await startStack({ uploads: true, timeouts: { longInMilliseconds: 36_000 } });
    try {
      await aContributor(slow.sql);
      slow.dataApi.intercept(() => sleep(500).then(() => undefined));

      await expect(exportFrom(slow)).rejects.toThrow(
        "The export takes longer than a function may run, so nothing was written",
      );

      expect(await transferKeys(slow)).toEqual([]);
    } finally {
      await slow.close();
    }
  });
});

function failStatement(number: number): void {
  let statements = 0;
  stack.dataApi.intercept(({ operation }) => {
    return operation === "ExecuteStatement" && ++statements === number ? { kind: "drop-before" } : undefined;
  });
}

const failUpload = (pattern: string): void =>
  stack.s3?.intercept((request) => (new RegExp(pattern).test(request) ? "refuse-before" : undefined));
