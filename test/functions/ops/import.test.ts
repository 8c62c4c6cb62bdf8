import { setTimeout as sleep } from "node:timers/promises";
import { PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { transferBucket } from "../../../infra/local/stage/functions.ts";
import type { ImportReport as Report } from "../../../lib/operators/transfer/import-report.ts";
import { useAdministrator } from "../../support/callers.ts";
import { aContributor } from "../../support/catalogue.ts";
import { identifier, values } from "../../support/database.ts";
import { exportFrom, linesOf } from "../../support/exports.ts";
import { operate } from "../../support/operate.ts";
import { startStack, useStack } from "../../support/stack.ts";
import { contents, rowsOf } from "../../support/undo.ts";

const stack = useStack({ uploads: true });
const administrator = useAdministrator(stack);

type Line = object | string;

const textOf = (lines: readonly Line[]) =>
  lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join("");

const run = (payload: object, by = stack): Promise<Report> => operate(by, "ops-import", payload);
const importing = (...lines: readonly Line[]) => run({ source: textOf(lines) });

const lineOf =
  (kind: string) =>
  (externalId: string, fields: object = {}) => ({ kind, externalId, ...fields });
const [publisher, contributor, series] = [lineOf("publisher"), lineOf("contributor"), lineOf("series")];
const relation = (from: string, to: string, relation_type = "friend") =>
  ({ kind: "contributor-relation", from, to, relation_type }) as const;

const links = ["https://tezukaosamu.net/", "https://example.com/"];
const tezuka = { slug: "tezuka", first_name: "Osamu", last_name: "Tezuka", gender: "male", type: "artist" };
const astroBoy = { client: 7, name: "Astro Boy", aliases: [{ name: "鉄腕アトム", language: "Japanese" }] };
const catalogue = [
  { kind: "client", id: 7, name: "Quiet Pages" },
  publisher("p1", { client: 7, name: "Kodansha", short_name: "KD", website: "https://www.kodansha.co.jp" }),
  publisher("p2", { name: "Vertical", aliases: [{ title: "縦", language: "Japanese" }] }),
  { kind: "publisher-relation", from: "p1", to: "p2", type: "imprint" },
  contributor("c1", {
    ...tezuka,
    public: true,
    image: "avatars/tezuka.webp",
    image_size: "1024x683",
    links,
    aliases: ["手塚治虫", "God of manga"],
    descriptions: [{ language: "German", description: "Ein Zeichner", source: "Us" }],
  }),
  contributor("c2", { first_name: "Moebius" }),
  relation("c1", "c2"),
  relation("c2", "c1"),
  series("s1", {
    ...astroBoy,
    type: "manga",
    tags: ["robots", "Classic"],
    volumes: [{ number: 1, cover: "covers/astro-1.webp", aspect_ratio: 0.66 }, { number: 2 }],
    contributors: [{ contributor: "c1", role: "author" }, { contributor: "c2" }],
    publishers: ["p1", "p2"],
  }),
];

const put = async (name: string, Body: string | Buffer) => {
  const Key = `imports/${name}.jsonl`;
  await new S3Client({}).send(new PutObjectCommand({ Bucket: transferBucket, Key, Body }));
  return `s3://${transferBucket}/${Key}`;
};

/** So many lines about as many contributors. */
const many = (count: number, fields: (number: number) => object = () => ({})) =>
  Array.from({ length: count }, (_, number) =>
    contributor(`many-${number}`, { first_name: `Many ${number}`, aliases: [`Alias ${number}`], ...fields(number) }),
  );

const forget = async () => {
  await stack.sql`truncate contributors, publishers, series, tags, imports, changes, history, images_to_remove cascade`;
  await stack.sql`delete from counters`;
};

const versionOf = async (externalId: string) =>
  Number(await values(stack.sql`select version from contributors where external_id = ${externalId}`));

const refusedLines = ({ refused }: Report) => refused.map(({ line }) => line);

/** Files of another format, and how each is named. */
const otherFiles: readonly { what: string; content: string | Buffer; reason: RegExp }[] = [
  {
    what: "a JSON array",
    content: '[\n  {"kind": "client", "id": 8, "name": "A"}\n]\n',
    reason: /^The file is a JSON array\. /,
  },
  { what: "CSV", content: 'kind,id,name\nclient,8,"A"\n', reason: /^The file is CSV, or another table\. / },
  {
    what: "a table of tabs",
    content: "kind\tid\tname\nclient\t8\tA\n",
    reason: /^The file is CSV, or another table\. /,
  },
  {
    what: "a byte-order mark",
    content: '\ufeff{"kind":"client","id":8,"name":"A"}\n',
    reason: /^The file begins with a byte-order mark\. /,
  },
  {
    what: "UTF-16",
    content: Buffer.from('\ufeff{"kind":"client","id":8,"name":"A"}\n', "utf16le"),
    reason: /^The file is UTF-16\. /,
  },
];

describe("ops-import", () => {
  it.each(otherFiles)("refuses $what once, as a whole, and changes nothing", async ({ content, reason }) => {
    for (const dryRun of [false, true]) {
      const source = await put("other", content);
      await expect(run({ source, dryRun })).rejects.toThrow(reason);
    }
    expect(await stack.sql`select from imports`).toEqual([]);
    expect(await stack.sql`select from clients where id = 8`).toEqual([]);
  });

  it("adds a catalogue as one change, and changes nothing the second time", async () => {
    const report = { lines: 9, added: 9, changed: 0, unchanged: 0, refusedCount: 0, refused: [], isDone: true };
    expect(await importing(...catalogue)).toEqual({
      ...report,
      kinds: {
        client: { added: 1, changed: 0 },
        publisher: { added: 2, changed: 0 },
        "publisher-relation": { added: 1, changed: 0 },
        contributor: { added: 2, changed: 0 },
        "contributor-relation": { added: 2, changed: 0 },
        series: { added: 1, changed: 0 },
      },
      changedOf: {},
      published: 1,
    });
    const before = await rowsOf(stack.sql);

    expect(await importing(...catalogue)).toEqual({
      ...report,
      added: 0,
      unchanged: 9,
      kinds: {},
      changedOf: {},
      published: 0,
    });

    expect(await rowsOf(stack.sql)).toEqual(before);
    expect(await stack.sql`select endpoint from changes where import_id > 0`).toEqual([{ endpoint: "ops/import" }]);
    const house = await stack.call("publisher/slug", { path: { slug: "kodansha" } });
    expect(house.body).toMatchObject({ name: "Kodansha", domain: "kodansha.co.jp" });
    const { body: author } = await stack.call("contributor/slug", { path: { slug: "tezuka" } });
    const query = { client: 7, user_lang: "ja" };
    const { body } = await stack.call("contributor/works", { path: { id: author.id }, query });
    expect(body.works).toMatchObject([{ alias: "鉄腕アトム", tags: [{ name: "Classic" }, { name: "robots" }] }]);
    const found = await stack.call("contributors/list", { query: { client: 1, search: "god manga" } });
    expect(found.body).toMatchObject({ max: 1, contributors: [{ id: author.id }] });
  });

  it("keeps what a line leaves out, and the rows of what stays", async () => {
    const before = await contents(stack.sql);

    const report = await importing(
      publisher("p1"),
      contributor("c1", { aliases: ["God of manga", "手塚治虫"], links }),
      contributor("c1"),
      series("s1", { tags: ["classic", "ROBOTS"], publishers: ["p2", "p1"] }),
    );

    expect(report).toMatchObject({ unchanged: 4 });
    expect(await contents(stack.sql)).toEqual(before);
  });

  it("replaces fields and lists, element by element", async () => {
    const rows = () => stack.sql`
      select id from contributor_aliases where name = '手塚治虫' union all select id from volumes where number = 1
    `;
    const before = await rows();
    const version = await versionOf("c1");
    const emptied = { last_name: null, public: null, gender: null, descriptions: null };
    const volume = { number: 1, cover: "covers/astro-1.webp", aspect_ratio: 0.5 };
    const edited = { image: "avatars/other.webp", links: links.toReversed() };
    const { slug, first_name, type } = tezuka;
    const credits = { tags: ["new"], contributors: [{ contributor: "c2", role: "inker" }] };

    const report = await importing(
      publisher("p1", { client: null, website: null, name: "Kodansha Ltd" }),
      contributor("c1", { ...emptied, ...edited, aliases: ["New", "手塚治虫"] }),
      series("s1", { ...credits, type: null, volumes: [{ number: 3 }, volume], publishers: null }),
    );

    expect(report).toMatchObject({ changed: 3, added: 0, unchanged: 0, refusedCount: 0 });
    expect(linesOf((await exportFrom(stack)).text)).toEqual(
      expect.arrayContaining([
        publisher("p1", { slug: "kodansha", name: "Kodansha Ltd", short_name: "KD" }),
        contributor("c1", { slug, first_name, type, ...edited, aliases: ["手塚治虫", "New"] }),
        series("s1", { slug: "astro-boy", ...astroBoy, ...credits, volumes: [volume, { number: 3 }] }),
      ]),
    );
    expect(await rows()).toEqual(before);
    expect(await versionOf("c1")).toBe(version + 1);
    expect(await stack.sql`select key from images_to_remove`).toEqual([{ key: "avatars/tezuka.webp" }]);
  });

  it.each([
    { what: "stays where the line names no image", line: { gender: "male" }, size: "1024x683" },
    {
      what: "is that of a line with the image",
      line: { image: "avatars/sized.webp", image_size: "800x600" },
      size: "800x600",
    },
    { what: "is none after null", line: { image_size: null }, size: null },
    {
      what: "is that of a line with another image",
      line: { image: "avatars/second.webp", image_size: "9x9" },
      size: "9x9",
    },
    { what: "is none after a line with another image alone", line: { image: "avatars/third.webp" }, size: null },
  ])("The size of an image $what", async ({ line, size }) => {
    await importing(contributor("c1", { image: "avatars/sized.webp", image_size: "1024x683" }));

    expect(await importing(contributor("c1", line))).toMatchObject({ refusedCount: 0 });

    expect(await values(stack.sql`select image_size from contributors where external_id = 'c1'`)).toEqual([size]);
  });

  it("refuses a line with an image of no size", async () => {
    const { refused } = await importing(contributor("c1", { image_size: "0x1" }));

    expect(refused).toMatchObject([{ field: "image_size", reason: expect.stringContaining("1024x683") }]);
  });

  it("finds a record without an external id by its slug, and gives it none", async () => {
    const { slug } = await aContributor(stack.sql);

    expect(await importing(contributor(`slug:${slug}`, { gender: "female" }))).toMatchObject({ added: 0, changed: 1 });

    const rows = await stack.sql`select external_id, gender from contributors where slug = ${slug}`;
    expect(rows).toEqual([{ external_id: null, gender: "female" }]);
  });

  it("gives a new record the slug that its external id says, so that an export never names two records alike", async () => {
    const named = (externalId: string, name: string, fields: object = {}) => [
      publisher(externalId, { name, ...fields }),
      contributor(externalId, { first_name: name, ...fields }),
      series(externalId, { name, ...fields }),
    ];
    expect(await importing(...named("slug:ghost", "Robert"))).toMatchObject({ added: 3 });
    expect(await importing(contributor("slug:ghost", { gender: "male" }))).toMatchObject({ changed: 1 });
    for (const table of ["publishers", "contributors", "series"].map(identifier))
      expect(await values(stack.sql`select slug from ${table} where external_id = 'slug:ghost'`)).toEqual(["ghost"]);

    await aContributor(stack.sql, { slug: "taken", external_id: "t1" });
    const { added, refused } = await importing(
      ...named("slug:else", "Roberta", { slug: "other" }),
      contributor("slug:taken", { first_name: "Took" }),
      contributor("slug:no/slug", { first_name: "Path" }),
    );
    expect({ added, refused }).toEqual({
      added: 1,
      refused: [
        ...["publishers", "contributors", "series", "contributors"].map((table, index) => ({
          line: index + 1,
          field: null,
          reason: expect.stringContaining(`is not allowed (${table}_external_id_says_slug)`),
        })),
      ],
    });
  });
});

describe("An import for a client", () => {
  const ofClient = (client: number, ...lines: readonly Line[]) => run({ source: textOf(lines), client });
  beforeEach(async () => {
    await forget();
    await importing(
      contributor("own", { client: 1, first_name: "Own" }),
      contributor("other", { client: 2, first_name: "Other" }),
      contributor("shared", { first_name: "Shared" }),
      publisher("house", { name: "House" }),
      series("other", { client: 2, name: "Other" }),
    );
  });

  it("adds, edits and names records of that client, without saying so in each line", async () => {
    const report = await ofClient(
      1,
      contributor("own", { gender: "female", public: true }),
      contributor("new", { first_name: "New" }),
      relation("own", "new"),
      series("work", { client: 1, name: "Work", contributors: [{ contributor: "own" }] }),
    );

    expect(report).toMatchObject({ added: 3, changed: 1, refused: [], changedOf: { 1: 1 }, published: 1 });
    expect(await stack.sql`select external_id from contributors where client_id = 1 order by id`).toEqual([
      { external_id: "own" },
      { external_id: "new" },
    ]);
    expect(await values(stack.sql`select client_id from series where external_id = 'work'`)).toEqual([1]);
  });

  it("refuses lines that would add, edit, take or name any other record, and lines about clients", async () => {
    const before = await contents(stack.sql);
    const names = (record: string) => `The line names the ${record}, which does not belong to client 1`;

    const { refused } = await ofClient(
      1,
      { kind: "client", id: 1, name: "Mine" },
      contributor("own", { client: 2 }),
      contributor("own", { client: null }),
      contributor("other", { first_name: "Mine" }),
      contributor("other", { client: 1, first_name: "Mine" }),
      contributor("shared", { first_name: "Mine" }),
      contributor("slug:shared", { first_name: "Mine" }),
      contributor("own", { slug: "shared" }),
      relation("own", "other"),
      relation("shared", "own"),
      series("work", { name: "Work", contributors: [{ contributor: "shared" }] }),
      contributor("shared"),
      publisher("house", { country: "Japan" }),
      series("other", { type: "manga" }),
      series("work", { name: "Work", publishers: ["house"] }),
    );

    expect(refused).toEqual([
      { line: 1, field: "kind", reason: "expected no client, in an import for one" },
      { line: 2, field: "client", reason: "expected 1, for which this import is" },
      { line: 3, field: "client", reason: "expected 1, for which this import is" },
      { line: 4, field: null, reason: names("contributor other") },
      { line: 5, field: null, reason: names("contributor other") },
      { line: 6, field: null, reason: names("contributor shared") },
      { line: 7, field: null, reason: expect.stringContaining("contributors_external_id_says_slug") },
      { line: 8, field: null, reason: expect.stringContaining("another slug than shared") },
      { line: 9, field: null, reason: names("contributor other") },
      { line: 10, field: null, reason: names("contributor shared") },
      { line: 11, field: null, reason: names("contributor shared") },
      { line: 12, field: null, reason: names("contributor shared") },
      { line: 13, field: null, reason: names("publisher house") },
      { line: 14, field: null, reason: names("series other") },
      { line: 15, field: null, reason: names("publisher house") },
    ]);
    expect(await contents(stack.sql)).toEqual(before);
  });

  it("is another one than that of the same file for all clients, which tells whose records it changed", async () => {
    const lines = [contributor("own", { gender: "x" }), contributor("other", { gender: "x", client: 1 })];
    expect(await ofClient(1, ...lines)).toMatchObject({ changed: 1, refusedCount: 1 });

    const report = await importing(...lines, contributor("shared", { public: true }));

    expect(report).toMatchObject({ changed: 2, unchanged: 1, changedOf: { 0: 1, 2: 1 }, published: 1 });
  });
});

describe("A line is refused, and the others are done:", () => {
  const somebody = (fields: object) => contributor("new", { first_name: "Somebody", ...fields });
  const house = (fields: object) => publisher("new", { name: "A", ...fields });
  const work = (fields: object) => series("new", { name: "A", ...fields });
  const image = "Another contributor has the same image";
  const anotherSlug = (slug: string) =>
    `The record has, or would get, another slug than ${slug}, which does not change`;
  const sameName = "Another contributor has the same first_name, last_name, disambiguation";
  const missing = (noun: string, kind: string, column: string) =>
    `The ${noun} would reference a ${kind} that does not exist (${column})`;

  beforeEach(forget);

  const refusals: readonly { line: Line; field?: string; reason: string }[] = [
    { line: '{"kind":', reason: "expected JSON: " },
    { line: "", reason: "expected a JSON object, not an empty line" },
    { line: `${JSON.stringify(somebody({}))}\r`, reason: "expected lines that end with LF, not with CR LF" },
    { line: "𠮷野家, publisher", reason: '"𠮷野家, publisher" is not valid JSON' },
    { line: '{"kind":\0"client"}', reason: "expected JSON: " },
    {
      line: '{"kind":"client","id":8,"name":"A","a\\u0000":1}',
      field: "a\ufffd",
      reason: "is no field of such a line",
    },
    {
      line: { kind: "client", id: 8, name: "A", ["é".repeat(900_000)]: 1 },
      field: `${"é".repeat(99)}…`,
      reason: "is no field of such a line",
    },
    { line: contributor("new"), reason: "The first_name of the contributor cannot be empty" },
    { line: somebody({ first_name: "OSAMU", last_name: "tezuka " }), reason: sameName },
    { line: contributor("c2", { first_name: "Osamu", last_name: "Tezuka" }), reason: sameName },
    { line: contributor("c2", { first_name: "Osamu", last_name: "Tezuka", disambiguation: "" }), reason: sameName },
    { line: somebody({ slug: "tezuka" }), reason: anotherSlug("tezuka") },
    { line: house({ slug: "kodansha" }), reason: anotherSlug("kodansha") },
    { line: contributor("c1", { slug: "other" }), reason: anotherSlug("other") },
    { line: somebody({ client: 99 }), reason: missing("contributor", "client", "client_id") },
    { line: somebody({ image: "avatars/tezuka.webp" }), reason: image },
    { line: somebody({ image: "profiles/one.webp" }), reason: "is not allowed (contributors_image_is_own)" },
    { line: somebody({ image: "avatars/tezuka-256.webp" }), field: "image", reason: "not that of a small picture" },
    { line: somebody({ image: "avatars/gone.webp" }), reason: "The image may be removed already" },
    { line: publisher("p2", { image: "avatars/tezuka.webp" }), reason: "is not allowed (publishers_image_is_own)" },
    {
      line: work({ volumes: [{ number: 1, cover: "avatars/a.webp" }] }),
      reason: "is not allowed (volumes_cover_is_own)",
    },
    {
      line: work({ contributors: [{ contributor: "c1" }, { contributor: "no" }] }),
      reason: missing("series contributor", "contributor", "contributor_id"),
    },
    { line: work({ publishers: ["c1"] }), reason: missing("series publisher", "publisher", "publisher_id") },
    { line: relation("nobody", "c1"), reason: missing("contributor relation", "contributor", "contributor_id") },
    { line: relation("nobody", "nothing"), reason: missing("contributor relation", "contributor", "contributor_id") },
    { line: relation("c1", "c1"), reason: "relation is not allowed (contributor_relations_to_another_check)" },
  ];

  it("each with a reason, and with its field if it is invalid by itself", async () => {
    await importing({ kind: "client", id: 1, name: "First" }, ...catalogue);
    await stack.sql`insert into users (username, slug, image) values ('One', 'one', 'profiles/one.webp')`;
    await stack.sql`insert into images_to_remove (key) values ('avatars/gone.webp')`;
    const before = await rowsOf(stack.sql);

    const report = await importing(...refusals.map(({ line }) => line), ...catalogue);

    expect(report).toMatchObject({ added: 0, changed: 0, unchanged: catalogue.length, refusedCount: refusals.length });
    expect(report.refused).toEqual(
      refusals.map(({ field = null, reason }, index) => ({
        line: index + 1,
        field,
        reason: expect.stringContaining(reason),
      })),
    );
    expect(await rowsOf(stack.sql)).toEqual(before);
  });

  it("that is no UTF-8, or begins with a byte-order mark behind the first line", async () => {
    const lines = ["A", "\u00c3(", "C"].map((name) => `{"kind":"client","id":8,"name":"${name}"}\n`);
    const text = Buffer.from(`${lines[0]}\ufeff${lines.slice(1).join("")}`);
    text[text.indexOf(0x83)] = 0x28;

    const { refused } = await run({ source: await put("bytes", text) });

    expect(refused).toEqual([{ line: 2, field: null, reason: "expected UTF-8" }]);
    expect(await stack.sql`delete from clients where id = 8 returning name`).toEqual([{ name: "C" }]);
  });

  it("that wants what an earlier line has got, or refers to a later line", async () => {
    const report = await importing(
      contributor("a", { first_name: "Ann", slug: "ann", image: "avatars/a.webp" }),
      contributor("b", { first_name: "ANN" }),
      contributor("c", { first_name: "Bea", slug: "ann" }),
      contributor("d", { first_name: "Bea", image: "avatars/a.webp" }),
      contributor("e", { first_name: "Bea" }),
      contributor("f", { first_name: "Bea" }),
      contributor("g", { first_name: "ann!" }),
      contributor("h", { first_name: "Hal", slug: "ann-2" }),
      series("s", { name: "S", contributors: [{ contributor: "i" }] }),
      relation("j", "i"),
      contributor("i", { first_name: "Ina", client: 9 }),
      { kind: "client", id: 9, name: "Nine" },
    );

    expect(refusedLines(report)).toEqual([2, 3, 4, 6, 8, 9, 10, 11]);
    const slugs = values(stack.sql`select external_id || ' ' || slug from contributors order by external_id`);
    expect(await slugs).toEqual(["a ann", "e bea", "g ann-2"]);
  });

  it("that would be the 101st relation", async () => {
    await importing(...many(103));
    const relations = Array.from({ length: 102 }, (_, number) => relation("many-0", `many-${number + 1}`));

    expect(await importing(...relations.slice(0, 50))).toMatchObject({ added: 50 });
    expect(await importing(...relations)).toMatchObject({
      added: 50,
      unchanged: 50,
      refused: [
        { line: 101, field: null, reason: "The contributor would have more than 100 relations" },
        { line: 102 },
      ],
    });
    expect(await versionOf("many-0")).toBe(101);
  });

  it.each([
    {
      how: "by earlier lines",
      names: ["Somebody", "Many 0", "Many 3", "Other"],
      refused: [3],
      now: ["Somebody", "Many 0", "Many 2", "Other", "Many 1"],
    },
    {
      how: "by a later line alone",
      names: ["Many 1", "Other"],
      refused: [1],
      now: ["Many 0", "Other", "Many 2", "Many 3", "Many 1"],
    },
  ])("as if the lines came one by one, when names are given up $how", async ({ names, refused, now }) => {
    await importing(...many(4));

    const report = await importing(
      ...names.map((first_name, number) =>
        contributor(`many-${number}`, { first_name, ...(number % 2 === 0 && { gender: "x" }) }),
      ),
      contributor("new", { first_name: "Many 1" }),
    );

    expect(refusedLines(report)).toEqual(refused);
    const first_names = values(stack.sql`select first_name from contributors order by external_id`);
    expect(await first_names).toEqual(now);
  });

  it("as if the lines came one by one, when several are about one record, also by a former external id", async () => {
    await importing(...many(3), series("s", { name: "S" }));
    const [keep, merged] = await values(stack.sql`select id from contributors order by external_id limit 2`);
    await stack.lambda.invoke("ops-merge-contributors", { keep, merge: [merged] });

    const report = await importing(
      contributor("many-0", { gender: "male", aliases: ["First", "Both"] }),
      contributor("many-2", { gender: "female" }),
      contributor("many-1", { gender: "female", aliases: ["Both", "Second"] }),
      contributor("once", { first_name: "Once" }),
      contributor("once", { gender: "male" }),
    );

    expect(report).toMatchObject({ added: 1, changed: 4, refusedCount: 0 });
    expect(await versionOf("many-0")).toBe(4);
    const now = values(stack.sql`
      select gender || ' ' || string_agg(alias.name, ' ' order by alias.id)
      from contributors join contributor_aliases as alias on contributor_id = contributors.id
      where external_id = 'many-0'
      group by contributors.id
    `);
    expect(await now).toEqual(["female Both Second"]);
  });

  it("that names one record twice, by its external id and a former one", async () => {
    await importing(...many(2), series("s", { name: "S" }));
    const [keep, merged] = await values(stack.sql`select id from contributors order by external_id`);
    await stack.lambda.invoke("ops-merge-contributors", { keep, merge: [merged] });
    const roles = ["a", "b"].map((role, number) => ({ contributor: `many-${number}`, role }));

    expect(await importing(series("s", { contributors: roles }))).toMatchObject({
      changed: 0,
      refused: [
        {
          line: 1,
          field: null,
          reason: "A list has two elements of one record",
        },
      ],
    });
    expect(await importing(series("s", { contributors: roles.slice(1) }))).toMatchObject({ changed: 1 });
    expect(await stack.sql`select role from series_contributors`).toEqual([{ role: "b" }]);
  });

  it("each in the log, and the first hundred in the report", async () => {
    const log = vi.spyOn(console, "log");

    const report = await importing(...Array(700).fill("{}"));

    const logged = log.mock.calls.map(([line]) => JSON.parse(String(line))).filter(({ refused }) => refused);
    log.mockRestore();
    const numbers = Array.from({ length: 700 }, (_, number) => number + 1);
    expect(report).toMatchObject({ lines: 700, refusedCount: 700 });
    expect(report.refused.map(({ line }) => line)).toEqual(numbers.slice(0, 100));
    expect(logged.map(({ refused }) => refused.line)).toEqual(numbers);
    expect(logged[0]).toMatchObject({ level: "warn", endpoint: "ops-import", refused: { field: "kind" } });
  });
});

describe("An import", () => {
  /** How many rows of contributors there are, and how many of them the changes left in the history. */
  const counts = () =>
    values(stack.sql`
      select
        (select count(distinct external_id) from contributors) as records,
        (select count(*) from changed_rows where change_id is not null and table_name = 'contributors') as recorded
    `);
  /** Three batches. */
  const lines = many(325, (number) => (number % 97 === 5 ? { public: "maybe" } : {}));
  const source = textOf(lines);
  const done = { lines: 325, added: 321, refusedCount: 4, isDone: true };

  beforeEach(forget);

  it.each([1, 2, 3, 4].flatMap((broken) => (["error", "error-after"] as const).map((kind) => ({ broken, kind }))))(
    "that breaks off at call $broken ($kind) goes on there, and nothing is done twice",
    async ({ broken, kind }) => {
      const fault = { kind, status: 400, type: "BadRequestException", message: "Broken" } as const;
      stack.dataApi.intercept(({ number }) => (number === broken ? fault : undefined));

      await expect(run({ source })).rejects.toThrow("Broken");
      stack.dataApi.intercept(undefined);
      const begun = await stack.sql`select from imports`;
      expect(begun).toHaveLength(broken === 1 || (broken === 2 && kind === "error") ? 0 : 1);

      // The last batch was done, so this is another run.
      const isOver = broken === 4 && kind === "error-after";
      expect(await run({ source })).toMatchObject(isOver ? { ...done, added: 0 } : done);
      expect(await counts()).toEqual([321, 321]);
      expect(await run({ source })).toMatchObject({ ...done, added: 0, unchanged: 321 });
    },
  );

  it.each(["drop-before", "drop-after", "503", "throttle", "cut-body"] as const)(
    "over a network that fails now and then (%s) does each line once",
    async (kind) => {
      let calls = 0;
      stack.dataApi.intercept(() => (calls++ % 2 === 0 ? { kind } : undefined));

      expect(await run({ source })).toMatchObject(done);

      expect(await counts()).toEqual([321, 321]);
    },
  );

  it("may run twice at once, of one file or of several", async () => {
    const other = textOf([...lines, contributor("last", { first_name: "Last" })]);

    const reports = await Promise.all([source, source, other].map((each) => run({ source: each })));

    expect(reports.map(({ isDone, lines }) => isDone && lines)).toEqual([325, 325, 326]);
    expect(await counts()).toEqual([322, 322]);
  });

  it("of a file reads it by pieces, however long the lines are", async () => {
    const of = (description: string) => ({
      descriptions: Array.from({ length: 40 }, (_, n) => ({ language: `Language ${n}`, description })),
    });
    const longest = of("手".repeat(20_000));
    const text = textOf(many(6, (number) => (number === 5 ? longest : of("word ".repeat(3_990)))));
    expect(text.length).toBeGreaterThan(4 * 2 ** 20);

    const report = await run({ source: await put("long", `${"x".repeat(6 * 2 ** 20 + 1)}\n${text.trimEnd()}`) });

    const refused = [{ line: 1, reason: "expected at most 6291456 bytes" }];
    expect(report).toMatchObject({ lines: 7, added: 6, refused });
    expect(await stack.sql`select count(*) from contributor_descriptions`).toEqual([{ count: 240 }]);
    const atMost = await run({ source: await put("at-most", `${"x".repeat(6 * 2 ** 20)}\n`) });
    expect(atMost.refused[0]?.reason).toMatch("expected JSON");
  });

  it("of lines with many short elements sends no more at once than the Data API takes", async () => {
    const tags = Array.from({ length: 200 }, (_, number) => `t${number}`);
    const lines = Array.from({ length: 250 }, (_, number) => series(`s${number}`, { name: "S", tags }));

    expect(await importing(...lines)).toMatchObject({ added: 250 });
  });

  it("of a file that is put there anew begins anew, and of an empty one has nothing to do", async () => {
    expect(await run({ source: await put("again", textOf(many(2))) })).toMatchObject({ added: 2 });
    expect(await run({ source: await put("again", textOf(many(3))) })).toMatchObject({ added: 1, unchanged: 2 });
    expect(await run({ source: await put("empty", "") })).toMatchObject({ lines: 0, isDone: true });
  });

  it.each([
    {
      what: "a missing object",
      payload: { source: "s3://transfers/none.jsonl" },
      message: /^s3:\/\/transfers\/none.jsonl cannot be read: there is no such object/,
    },
    {
      what: "an object of another bucket",
      payload: { source: "s3://elsewhere/file.jsonl" },
      message: /^s3:\/\/elsewhere\/file.jsonl cannot be read: there is no such object/,
    },
    {
      what: "a bucket",
      payload: { source: "s3://transfers" },
      message: "`source` is neither s3://BUCKET/KEY nor lines of JSON",
    },
    { what: "no source", payload: {}, message: /^Invalid payload: source: / },
  ])("fails for $what", async ({ payload, message }) => {
    await expect(run(payload)).rejects.toThrow(message);
  });
});

describe("A dry run", () => {
  beforeEach(forget);

  it("of several batches returns what the import would, and changes nothing", async () => {
    await importing(...catalogue);
    const lines = [
      { kind: "client", id: 70, name: "Seventy" },
      contributor("c1", { image: "avatars/other.webp" }),
      contributor("own", { slug: "own", first_name: "İstanbul Weiß", image: "avatars/one.webp" }),
      ...many(300, (number) => (number > 290 ? { client: 70, public: 5 } : { client: 70 })),
      contributor("second", { first_name: "i̇stanbul WEISS" }),
      relation("second", "many-1"),
      contributor("third", { slug: "own", first_name: "Third" }),
      publisher("p4", { name: "House", slug: "own", image: "avatars/one.webp" }),
      series("s1", { contributors: [{ contributor: "c1", role: "author" }, { contributor: "many-4" }] }),
      contributor("many-3", { gender: "female" }),
    ];
    const state = async () => ({
      ...(await rowsOf(stack.sql)),
      recorded: await stack.sql`select (select count(*) from imports), (select count(*) from changes) as changes`,
    });
    const before = await state();

    const tried = await run({ source: textOf(lines), dryRun: true });

    expect(await state()).toEqual(before);
    expect(tried).toEqual(await run({ source: textOf(lines) }));
    expect(tried).toMatchObject({ isDone: true, added: 293, changed: 3 });
    expect(refusedLines(tried).slice(9)).toEqual([304, 305, 306, 307]);
  });

  it("takes no locks of names, of which PostgreSQL has too few for twenty thousand lines", async () => {
    const locks: unknown[] = [];
    const held = () => stack.sql`
      select count(*) from pg_locks join pg_database on pg_database.oid = database
      where datname = current_database() and locktype = 'advisory'
    `;
    stack.dataApi.intercept(async ({ operation }) => {
      if (operation === "RollbackTransaction") locks.push(...(await held()));
      return undefined;
    });

    const tried = await run({ source: textOf(many(20_000)), dryRun: true });

    expect(tried).toMatchObject({ isDone: true, added: 20_000, refusedCount: 0 });
    expect(locks).toEqual([{ count: 0 }]);
  });
});

describe("An import beside others", () => {
  const deadlocks = () => stack.sql`select deadlocks from pg_stat_database where datname = current_database()`;

  it("waits for nobody for long, nor is in the way of additions and edits", async () => {
    await forget();
    await importing(...many(600));
    const ids = await values(stack.sql`select id from contributors order by id`);
    const before = await deadlocks();
    let isOver = false;
    const statuses = new Set<number>();
    const edits = Array.from({ length: 6 }, async (_, worker) => {
      for (let round = 0; !isOver; round++) {
        const pick = (step: number) => ids[(worker * 131 + round * step + step) % ids.length];
        const id = pick(7);
        const added_relations = [pick(11), pick(13), pick(17)]
          .filter((each) => each !== id)
          .map((relation_id) => ({ relation_id, relation_type: "x" }));
        const body = { first_name: `Edited ${id}`, public: round % 2 === 0, added_relations };
        const edit = await stack.call("admin-contributors/edit", { as: administrator.token, path: { id }, body });
        const added = { as: administrator.token, body: { first_name: `Added ${worker} ${round}` } };
        statuses.add(edit.status).add((await stack.call("admin-contributors/add", added)).status);
      }
    });
    for (let round = 0; round < 4; round++)
      await importing(
        ...many(600, (number) => ({ public: (number + round) % 2 === 0, gender: `${round}` })),
        ...many(200, (number) => ({ externalId: `${round}/${number}`, first_name: `${round}/${number}` })),
      );
    isOver = true;
    await Promise.all(edits);

    expect([...statuses].filter((status) => status !== 200 && status !== 400)).toEqual([]);
    expect(await deadlocks()).toEqual(before);
    const [counted] = await stack.sql`select sum(total)::int as total from counters where subject = 'contributors'`;
    expect(await stack.sql`select count(*)::int as total from contributors`).toEqual([counted]);
  });
});

describe("An import that takes longer than its function may", () => {
  it("stops in time, and the next run goes on", async () => {
    const slow = await startStack({ timeouts: { longInMilliseconds: 31_500 } });
    onTestFinished(slow.close);
    // A run has 1.5 s, and twelve batches take 2.4 s on any machine.
    slow.dataApi.intercept(async () => void (await sleep(200)));
    const runs: Report[] = [];
    while (!runs.at(-1)?.isDone) runs.push(await run({ source: textOf(many(1_500)) }, slow));

    expect(runs.length).toBeGreaterThan(1);
    expect(runs[0]).toMatchObject({ isDone: false, added: runs[0]?.lines });
    expect(runs.at(-1)).toMatchObject({ lines: 1_500, added: 1_500 });
  });
});
