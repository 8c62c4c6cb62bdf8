import { setTimeout as sleep } from "node:timers/promises";
import { DeleteObjectCommand } from "@aws-sdk/client-s3";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { transferBucket } from "../../../infra/local/stage/functions.ts";
import { aContributor, aPublisher, aSeries, relate } from "../../support/catalogue.ts";
import { exportFrom, linesOf, s3Of, transferKeys } from "../../support/exports.ts";
import { startStack, useStack } from "../../support/stack.ts";

const stack = useStack({ uploads: true });
const exportTo = (payload?: object) => exportFrom(stack, payload);
const keys = () => transferKeys(stack);

/** The last request about an upload in parts. */
const lastOfUpload = () => stack.s3?.requests.findLast((each) => /[?&]upload(?:s|Id)\b/.test(each));

beforeEach(async () => {
  await stack.sql`truncate contributors, publishers, series, tags restart identity cascade`;
  const files = await keys();
  for (const Key of files) await s3Of(stack).send(new DeleteObjectCommand({ Bucket: transferBucket, Key }));
});

describe("ops-export", () => {
  it("writes a relation once that is there twice, and returns what it wrote", async () => {
    const [ann, bob] = [await aContributor(stack.sql, { slug: "ann" }), await aContributor(stack.sql, { slug: "bob" })];
    for (const _ of Array(2)) await relate(stack.sql, bob, ann, "spouse");
    await relate(stack.sql, ann, bob, "spouse");
    await relate(stack.sql, bob, ann, "pupil");

    const { text, ...exported } = await exportTo();

    expect(text.split("\n").slice(4)).toEqual([
      '{"kind":"contributor-relation","from":"slug:bob","to":"slug:ann","relation_type":"spouse"}',
      '{"kind":"contributor-relation","from":"slug:ann","to":"slug:bob","relation_type":"spouse"}',
      '{"kind":"contributor-relation","from":"slug:bob","to":"slug:ann","relation_type":"pupil"}',
      "",
    ]);
    expect(exported).toEqual({
      target: expect.stringMatching(/^s3:\/\/transfers\/exports\/all-[\dTZ.-]+\.jsonl$/),
      lines: { client: 2, publisher: 0, "publisher-relation": 0, contributor: 2, "contributor-relation": 3, series: 0 },
      skipped: 0,
      bytes: Buffer.byteLength(text),
    });
  });

  it("writes what belongs to a client's website, and no reference to what does not", async () => {
    const own = await aContributor(stack.sql, { slug: "own", client_id: 1, public: false });
    const shared = await aContributor(stack.sql, { slug: "shared" });
    const other = await aContributor(stack.sql, { slug: "other", client_id: 2 });
    const house = await aPublisher(stack.sql, { slug: "house", client_id: 2 });
    for (const [from, to] of [[own, shared], [shared, other], [other, shared]] as const) // biome-ignore format: pairs
      await relate(stack.sql, from, to);
    const series = await aSeries(stack.sql, { by: other, from: house }, { slug: "shared-series" });
    await stack.sql`insert into series_contributors (series_id, contributor_id) values (${series.id}, ${own.id})`;
    await aSeries(stack.sql, {}, { slug: "other-series", client_id: 2 });

    const { text, ...exported } = await exportTo({ client: 1 });

    const lines = linesOf(text);
    expect(lines).toMatchObject([
      { kind: "client", id: 1 },
      { kind: "contributor", externalId: "slug:own" },
      { kind: "contributor", externalId: "slug:shared" },
      { from: "slug:own", to: "slug:shared" },
      { kind: "series", externalId: "slug:shared-series", contributors: [{ contributor: "slug:own" }] },
    ]);
    expect(lines[4]).not.toHaveProperty("publishers");
    expect(exported).toMatchObject({ skipped: 4, lines: { client: 1, publisher: 0, contributor: 2, series: 1 } });
    expect(exported.target).toMatch(/exports\/client-1-/);
  });

  it("shows one moment, whatever is changed meanwhile", async () => {
    await stack.sql`
      insert into contributors (first_name, slug) select 'Ann ' || n, 'c-' || n from generate_series(1, 1200) as n
    `;
    const { text: before } = await exportTo();
    let statements = 0;
    stack.dataApi.intercept(async ({ operation }) => {
      if (operation !== "ExecuteStatement" || ++statements < 4) return undefined;
      await stack.sql`update contributors set first_name = first_name || ' ' || ${statements}::int`;
      await stack.sql`delete from contributors where id in (select id from contributors order by id desc limit 5)`;
      await aPublisher(stack.sql);
      await aSeries(stack.sql);
      return undefined;
    });

    expect((await exportTo()).text).toBe(before);

    expect(statements).toBeGreaterThan(8);
    stack.dataApi.intercept(undefined);
    expect((await exportTo()).text).not.toBe(before);
  });

  it("writes a record that exceeds a result of the Data API", async () => {
    const { id } = await aContributor(stack.sql, { slug: "long" });
    await aContributor(stack.sql, { slug: "short" });
    await stack.sql`
      insert into contributor_descriptions (contributor_id, language, description)
      select ${id}, 'English', repeat('ü漢', 10000) from generate_series(1, 40)
    `;

    const description = { language: "English", description: "ü漢".repeat(10_000) };
    expect(linesOf((await exportTo()).text)).toMatchObject([
      { kind: "client", id: 1 },
      { kind: "client", id: 2 },
      { externalId: "slug:long", descriptions: Array(40).fill(description) },
      { externalId: "slug:short" },
    ]);
  });

  it("escapes what other programs take for a line break", async () => {
    const text = "a\u2028b\u2029c\u0085d\\u2028 e";
    await aPublisher(stack.sql, { slug: "breaks", country: text });

    const exported = (await exportTo()).text;

    expect(exported).not.toMatch(/[\u2028\u2029\u0085]/);
    expect(linesOf(exported)).toMatchObject([{ id: 1 }, { id: 2 }, { country: text }]);
  });

  it.each([
    { what: "a missing client", payload: { client: 3 }, message: "There is no client 3" },
    { what: "a target that is no object", payload: { target: "https://example.com" }, message: "target" },
    { what: "an unknown field", payload: { clients: 1 }, message: "clients" },
  ])("fails for $what, and writes nothing", async ({ payload, message }) => {
    await expect(exportTo(payload)).rejects.toThrow(message);

    expect(await keys()).toEqual([]);
  });

  it("writes to the key in the payload", async () => {
    const target = `s3://${transferBucket}/exports/before the move.jsonl`;

    expect(await exportTo({ target })).toMatchObject({ target });

    expect(await keys()).toEqual(["exports/before the move.jsonl"]);
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
    const { bytes, text } = await exportTo();

    expect(bytes).toBeGreaterThan(15_000_000);
    expect(linesOf(text)).toHaveLength(802);
    expect(lastOfUpload()).toMatch(/^POST .*uploadId=/);
  });

  it.each<{ what: string; statement?: number; upload?: RegExp }>([
    { what: "a statement fails", statement: 20 },
    { what: "the upload of a part fails", upload: /partNumber=3/ },
    { what: "its completion fails", upload: /POST \/transfers\/exports\/[^?]*\?uploadId/ },
  ])("leaves nothing at its key and nothing open when $what", async ({ statement, upload }) => {
    let statements = 0;
    stack.dataApi.intercept(({ operation }) =>
      operation === "ExecuteStatement" && ++statements === statement ? { kind: "drop-before" } : undefined,
    );
    stack.s3?.intercept((request) => (upload?.test(request) ? "refuse-before" : undefined));

    await expect(exportTo()).rejects.toThrow();

    expect(await keys()).toEqual([]);
    expect(lastOfUpload()).toMatch(/^DELETE .*uploadId=/);
    const transactions = stack.sql`
      select pid from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'
    `;
    expect(await transactions).toEqual([]);
  });

  it("says that it does not fit into a function's time, and leaves nothing", async () => {
    // Of its time the function reserves the last 35 s.
    const slow = await startStack({ uploads: true, timeouts: { longInMilliseconds: 36_000 } });
    onTestFinished(slow.close);
    await aContributor(slow.sql);
    slow.dataApi.intercept(() => sleep(500).then(() => undefined));

    await expect(exportFrom(slow)).rejects.toThrow(
      "The export takes longer than a function may run, so nothing was written",
    );

    expect(await transferKeys(slow)).toEqual([]);
  });
});
