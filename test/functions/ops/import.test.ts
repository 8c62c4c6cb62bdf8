import { setTimeout as sleep } from "node:timers/promises";
import { PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { transferBucket } from "../../../infra/local/stage/functions.ts";
import { useAdministrator } from "../../support/callers.ts";
import { aContributor, aPublisher, aSeries } from "../../support/catalogue.ts";
import { identifier } from "../../support/database.ts";
import { startStack, useStack } from "../../support/stack.ts";
import { contents, rowsOf } from "../../support/undo.ts";

const stack = useStack({ uploads: true });

beforeEach(() => stack.dataApi.intercept(undefined));

interface Report {
  readonly lines: number;
  readonly added: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly refusedCount: number;
  readonly refused: readonly { readonly line: number; readonly field: string | null; readonly reason: string }[];
  readonly isDone: boolean;
}

const textOf = (lines: readonly (object | string)[]) =>
  lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join("");

async function run(payload: object): Promise<Report> {
  const invocation = await stack.lambda.invoke("ops-import", payload);
  if ("error" in invocation) throw new Error(invocation.error.errorMessage);
  return invocation.result as Report;
}

const importing = (...lines: readonly (object | string)[]) => run({ source: textOf(lines) });

const links = ["https://tezukaosamu.net", "https://example.com"];

const catalogue = [
  { kind: "client", id: 7, name: "Quiet Pages" },
  {
    kind: "publisher",
    externalId: "p1",
    client: 7,
    name: "Kodansha",
    short_name: "KD",
    country: "Japan",
    website: "https://www.kodansha.co.jp",
    headquarter: "Tokyo",
    founding_date: "1909-12-31",
    image: "publishers/kodansha.webp",
    image_source: "Wikipedia",
    aliases: [{ title: "講談社", language: "Japanese" }],
    descriptions: [{ language: "English", description: "A publisher", source: "Us" }],
  },
  { kind: "publisher", externalId: "p2", name: "Vertical" },
  { kind: "publisher-relation", from: "p1", to: "p2", type: "imprint" },
  {
    kind: "contributor",
    externalId: "c1",
    slug: "tezuka",
    public: true,
    first_name: "Osamu",
    last_name: "Tezuka",
    gender: "male",
    type: "artist",
    image: "avatars/tezuka.webp",
    links,
    aliases: ["手塚治虫", "God of manga"],
    descriptions: [
      { language: "English", description: "An artist", source: "" },
      { language: "German", description: "Ein Zeichner", source: "Us" },
    ],
  },
  { kind: "contributor", externalId: "c2", first_name: "Moebius" },
  { kind: "contributor-relation", from: "c1", to: "c2", relation_type: "friend" },
  { kind: "contributor-relation", from: "c2", to: "c1", relation_type: "friend" },
  {
    kind: "series",
    externalId: "s1",
    client: 7,
    name: "Astro Boy",
    type: "manga",
    origin: "Japan",
    tags: ["robots", "Classic"],
    aliases: [{ name: "鉄腕アトム", language: "Japanese" }],
    descriptions: [{ language: "English", description: "A robot" }],
    volumes: [
      { number: 1, cover: "covers/astro-1.webp", aspect_ratio: 0.66, nsfw: 0, nsfw18: 0 },
      { number: 2, cover: null, aspect_ratio: 0.7, nsfw: 1, nsfw18: 1 },
    ],
    contributors: [
      { contributor: "c1", role: "author" },
      { contributor: "c2", role: null },
    ],
    publishers: ["p1", "p2"],
  },
];

const put = (Key: string, Body: string | Buffer) =>
  new S3Client({}).send(new PutObjectCommand({ Bucket: transferBucket, Key, Body }));

/** So many lines about as many contributors. */
const many = (count: number, fields: (number: number) => object = () => ({})) =>
  Array.from({ length: count }, (_, number) => ({
    kind: "contributor",
    externalId: `many-${number}`,
    first_name: `Many ${number}`,
    aliases: [`Alias ${number}`],
    ...fields(number),
  }));

const forget = async () => {
  await stack.sql`truncate contributors, publishers, series, tags, imports, changes, history, images_to_remove cascade`;
  await stack.sql`delete from counters`;
};

describe("ops-import", () => {
  it("adds a catalogue, and changes nothing the second time", async () => {
    expect(await importing(...catalogue)).toEqual({
      lines: 9,
      added: 9,
      changed: 0,
      unchanged: 0,
      refusedCount: 0,
      refused: [],
      isDone: true,
    });
    const before = await rowsOf(stack.sql);

    expect(await importing(...catalogue)).toMatchObject({ lines: 9, added: 0, changed: 0, unchanged: 9 });

    expect(await rowsOf(stack.sql)).toEqual(before);
    const { body } = await stack.call("publisher/slug", { path: { slug: "kodansha" } });
    expect(body).toMatchObject({ name: "Kodansha", domain: "kodansha.co.jp" });
    const contributor = await stack.call("contributor/slug", { path: { slug: "tezuka" } });
    expect(contributor.body).toMatchObject({ first_name: "Osamu", aliases: [{ name: "手塚治虫" }, {}] });
    const { id } = contributor.body;
    const works = await stack.call("contributor/works", { path: { id }, query: { client: 7, user_lang: "ja" } });
    expect(works.body.works).toMatchObject([
      { name: "Astro Boy", alias: "鉄腕アトム", tags: [{ name: "Classic" }, { name: "robots" }] },
    ]);
    const found = await stack.call("contributors/list", { query: { client: 1, search: "god manga" } });
    expect(found.body).toMatchObject({ max: 1, contributors: [{ id }] });
  });

  it("keeps what a line leaves out, and the rows of what stays", async () => {
    const before = await contents(stack.sql);

    expect(
      await importing(
        { kind: "publisher", externalId: "p1" },
        { kind: "contributor", externalId: "c1", aliases: ["God of manga", "手塚治虫"], links: links.toReversed() },
        { kind: "contributor", externalId: "c1" },
        { kind: "series", externalId: "s1", tags: ["classic", "ROBOTS"], publishers: ["p2", "p1"] },
      ),
    ).toMatchObject({ unchanged: 3, refused: [{ line: 3, field: "externalId", reason: "is that of line 2, too" }] });

    expect(await contents(stack.sql)).toEqual(before);
  });

  it("replaces fields and lists, element by element", async () => {
    const rows = async () => ({
      aliases: await stack.sql`select id, name from contributor_aliases order by id`,
      volumes: await stack.sql`select id, number, aspect_ratio from volumes order by number`,
      credits: await stack.sql`select role from series_contributors`,
      tags: await stack.sql`select name from series_tags join tags on tags.id = tag_id order by name`,
    });
    const before = await rows();
    const [{ version } = { version: 0 }] = await stack.sql`select version from contributors where external_id = 'c1'`;

    expect(
      await importing(
        { kind: "publisher", externalId: "p1", client: null, website: null, aliases: [], name: "Kodansha Ltd" },
        {
          kind: "contributor",
          externalId: "c1",
          last_name: null,
          public: null,
          gender: null,
          image: "avatars/other.webp",
          links: ["https://example.com"],
          aliases: ["New", "手塚治虫"],
          descriptions: null,
        },
        {
          kind: "series",
          externalId: "s1",
          type: null,
          tags: ["new"],
          volumes: [{ number: 3 }, { number: 1, cover: "covers/astro-1.webp", aspect_ratio: 0.5 }],
          contributors: [{ contributor: "c2", role: "inker" }],
          publishers: null,
        },
      ),
    ).toMatchObject({ changed: 3, added: 0, unchanged: 0, refusedCount: 0 });

    expect(
      await stack.sql`select client_id, website, name, slug, short_name from publishers where external_id = 'p1'`,
    ).toEqual([{ client_id: null, website: null, name: "Kodansha Ltd", slug: "kodansha", short_name: "KD" }]);
    expect(
      await stack.sql`
        select last_name, public, gender, type, image, slug, version from contributors where external_id = 'c1'
      `,
    ).toEqual([
      {
        last_name: null,
        public: false,
        gender: null,
        type: "artist",
        image: "avatars/other.webp",
        slug: "tezuka",
        version: version + 1,
      },
    ]);
    expect(await stack.sql`select key from images_to_remove`).toEqual([{ key: "avatars/tezuka.webp" }]);
    const after = await rows();
    expect(after.aliases).toEqual([before.aliases[0], { id: expect.any(Number), name: "New" }]);
    expect(after.volumes).toEqual([
      { ...before.volumes[0], aspect_ratio: 0.5 },
      { id: expect.any(Number), number: 3, aspect_ratio: 0.7 },
    ]);
    expect(after.credits).toEqual([{ role: "inker" }]);
    expect(after.tags).toEqual([{ name: "new" }]);
    expect(await stack.sql`select count(*) from contributor_descriptions`).toEqual([{ count: 0 }]);
    expect(await stack.sql`select count(*) from series_publishers`).toEqual([{ count: 0 }]);
  });

  it("finds records without an external id by their slugs, and gives them none", async () => {
    const { slug } = await aContributor(stack.sql);
    const publisher = await aPublisher(stack.sql);
    const series = await aSeries(stack.sql);
    const lines = [
      { kind: "publisher", externalId: `slug:${publisher.slug}`, slug: publisher.slug },
      { kind: "contributor", externalId: `slug:${slug}`, gender: "female" },
      { kind: "series", externalId: `slug:${series.slug}`, origin: "Japan", publishers: [`slug:${publisher.slug}`] },
      { kind: "contributor-relation", from: `slug:${slug}`, to: "c1", relation_type: "fan" },
    ];

    expect(await importing(...lines)).toMatchObject({ added: 1, changed: 2, unchanged: 1, refusedCount: 0 });
    expect(await importing(...lines)).toMatchObject({ added: 0, changed: 0, unchanged: 4 });

    expect(await stack.sql`select external_id, gender from contributors where slug = ${slug}`).toEqual([
      { external_id: null, gender: "female" },
    ]);
    expect(await importing({ kind: "contributor", externalId: "slug:nobody", first_name: "Nobody" })).toMatchObject({
      added: 1,
    });
    expect(await importing({ kind: "contributor", externalId: "slug:nobody", gender: "male" })).toMatchObject({
      changed: 1,
    });
  });

  it("gives a new record the slug that its external id says, so that an export never names two records alike", async () => {
    const kinds = ["publisher", "contributor", "series"];
    const lineOf = (kind: string, name: string, slug: string, more = {}) => ({
      kind,
      externalId: `slug:${slug}`,
      ...(kind === "contributor" ? { first_name: name } : { name }),
      ...more,
    });
    expect(await importing(...kinds.map((kind) => lineOf(kind, "Robert", "ghost")))).toMatchObject({ added: 3 });
    for (const table of ["publishers", "contributors", "series"]) {
      const rows = await stack.sql`select slug from ${identifier(table)} where external_id = 'slug:ghost'`;
      expect(rows).toEqual([{ slug: "ghost" }]);
    }

    await aContributor(stack.sql, { slug: "taken", external_id: "t1" });
    const refused = await importing(
      ...kinds.map((kind) => lineOf(kind, "Else", "else", { slug: "other" })),
      lineOf("contributor", "Took", "taken"),
      lineOf("contributor", "Path", "no/slug"),
    );
    expect(refused).toMatchObject({
      added: 1,
      refused: [
        ...[1, 2, 3].map((line) => ({ line, field: "slug", reason: "expected the slug that externalId says" })),
        { line: 4, field: "slug", reason: "another record has it" },
      ],
    });
  });

  it("is recorded row by row, and makes stale what it changed", async () => {
    await stack.sql`delete from changes`;
    await stack.sql`delete from stale_tags`;
    const line = { kind: "contributor", externalId: "c2", public: true, gender: "male", aliases: ["Jean Giraud"] };

    await run({ source: textOf([line]), reason: "They sent a file", by: "Ada" });
    await run({ source: textOf([line]), reason: "Once more", by: "Ada" });

    const [{ id } = { id: 0 }] = await stack.sql`select id from contributors where external_id = 'c2'`;
    expect(await stack.sql`select endpoint, operator, reason, import_id > 0 as is_import from changes`).toEqual([
      { endpoint: "ops/import", operator: "Ada", reason: "They sent a file", is_import: true },
    ]);
    const rows = await stack.sql`
      select table_name, owner, before, after - array['random_key'] as after
      from changes join changed_rows on change_id = changes.id
      order by table_name
    `;
    expect(rows).toEqual([
      { table_name: "contributor_aliases", owner: id, before: null, after: { name: "Jean Giraud" } },
      {
        table_name: "contributors",
        owner: id,
        before: { public: false, gender: null },
        after: { public: true, gender: "male" },
      },
    ]);
    expect((await stack.sql`select tag from stale_tags order by tag`).map(({ tag }) => tag)).toContain(
      `contributor-${id}`,
    );
  });
});

const first = { kind: "contributor", externalId: "new", first_name: "Somebody" };
const publisher = { kind: "publisher", externalId: "new", name: "A" };
const series = { kind: "series", externalId: "new", name: "A" };
const client = (name: string) => `{"kind":"client","id":8,"name":"A","${name}":1}`;
const nobody = { contributor: "nobody" };
const alone = { kind: "contributor-relation", from: "slug:alone", to: "slug:alone", relation_type: "x" };
const another = "another record has it";
const unknown = "there is none, neither in the database nor on an earlier line";

describe("A line is refused, and the others are done:", () => {
  it.each<[line: object | string, field: string | null, reason: string]>([
    ['{"kind":', null, "expected JSON: "],
    ["", null, "expected a JSON object, not an empty line"],
    [`${JSON.stringify(first)}\r`, null, "expected lines that end with LF, not with CR LF"],
    ["𠮷野家, publisher", null, '"𠮷野家, publisher" is not valid JSON'],
    ['{"kind":\0"client"}', null, "expected JSON: "],
    [client("\\ud800"), "\ufffd", "is no field of such a line"],
    [client("a\\u0000"), "a\ufffd", "is no field of such a line"],
    [client("é".repeat(900_000)), `${"é".repeat(99)}…`, "is no field of such a line"],
    [{ kind: "author" }, "kind", "expected one of client, publisher"],
    [{ ...first, colour: "red" }, "colour", "is no field of such a line"],
    [{ ...first, public: "yes" }, "public", "expected true or false"],
    [{ ...first, first_name: undefined }, "first_name", "a new record needs it"],
    [{ ...publisher, name: undefined }, "name", "a new record needs it"],
    [{ ...series, name: undefined }, "name", "a new record needs it"],
    [{ ...first, first_name: "OSAMU", last_name: "tezuka " }, "first_name", "another contributor has this name"],
    [{ ...first, externalId: "c2", first_name: "Osamu", last_name: "Tezuka" }, "first_name", "another contributor has"],
    [{ ...first, slug: "tezuka" }, "slug", another],
    [{ ...publisher, slug: "kodansha" }, "slug", another],
    [{ ...series, slug: "astro-boy" }, "slug", another],
    [{ kind: "contributor", externalId: "c1", slug: "other" }, "slug", "expected the slug that the record has"],
    [{ ...first, client: 99 }, "client", unknown],
    [{ ...first, image: "avatars/tezuka.webp" }, "image", another],
    [{ ...first, image: "profiles/one.webp" }, "image", another],
    [{ ...first, image: "avatars/gone.webp" }, "image", "this image is about to be removed"],
    [{ kind: "publisher", externalId: "p2", image: "avatars/tezuka.webp" }, "image", another],
    [{ ...series, volumes: [{ number: 1 }, { number: 2, cover: "covers/astro-1.webp" }] }, "volumes.1.cover", another],
    [{ ...series, contributors: [{ contributor: "c1" }, nobody] }, "contributors.1.contributor", unknown],
    [{ ...series, publishers: ["c1"] }, "publishers.0", unknown],
    [{ ...alone, from: "nobody", to: "c1" }, "from", unknown],
    [{ kind: "publisher-relation", from: "p1", to: "nobody", type: "x" }, "to", unknown],
    [alone, "to", "expected the externalId of another contributor"],
  ])("%j", async (line, field, reason) => {
    await forget();
    await importing(...catalogue);
    await stack.sql`
      insert into users (username, slug, image) values ('One', 'one', 'profiles/one.webp') on conflict do nothing
    `;
    await stack.sql`insert into images_to_remove (key) values ('avatars/gone.webp')`;
    const before = await rowsOf(stack.sql);
    const other = { kind: "client", id: 7, name: "Quiet Pages" };

    const report = await importing({ kind: "client", id: 1, name: "First" }, line, other);

    expect(report).toMatchObject({ lines: 3, added: 0, changed: 0, unchanged: 2, refusedCount: 1 });
    expect(report.refused).toEqual([{ line: 2, field, reason: expect.stringContaining(reason) }]);
    expect(await rowsOf(stack.sql)).toEqual(before);
  });

  it("that is no UTF-8, or begins with a byte order mark", async () => {
    const bytes = Buffer.concat([
      Buffer.from('\ufeff{"kind":"client","id":8,"name":"A"}\n{"kind":"client","id":8,"name":"'),
      Buffer.from([0xc3, 0x28]),
      Buffer.from('"}\n{"kind":"client","id":8,"name":"C"}'),
    ]);
    await put("imports/bytes.jsonl", bytes);

    const report = await run({ source: `s3://${transferBucket}/imports/bytes.jsonl` });

    expect(report).toMatchObject({
      lines: 3,
      added: 1,
      refused: [
        { line: 1, field: null, reason: "expected no byte order mark at the beginning" },
        { line: 2, field: null, reason: "expected UTF-8" },
      ],
    });
    expect(await stack.sql`delete from clients where id = 8 returning name`).toEqual([{ name: "C" }]);
  });

  it("that wants what an earlier line has got", async () => {
    await forget();
    const contributor = (externalId: string, fields: object) => ({ kind: "contributor", externalId, ...fields });

    const report = await importing(
      contributor("a", { first_name: "Ann", slug: "ann", image: "avatars/a.webp" }),
      contributor("b", { first_name: "ANN" }),
      contributor("c", { first_name: "Bea", slug: "ann" }),
      contributor("d", { first_name: "Bea", image: "avatars/a.webp" }),
      contributor("e", { first_name: "Bea" }),
      contributor("f", { first_name: "Bea" }),
      contributor("g", { first_name: "ann!" }),
      contributor("h", { first_name: "Hal", slug: "ann-2" }),
    );

    expect(report.refused.map(({ line, field }) => [line, field])).toEqual([
      [2, "first_name"],
      [3, "slug"],
      [4, "image"],
      [6, "first_name"],
      [8, "slug"],
    ]);
    expect(await stack.sql`select external_id, slug from contributors order by external_id`).toEqual([
      { external_id: "a", slug: "ann" },
      { external_id: "e", slug: "bea" },
      { external_id: "g", slug: "ann-2" },
    ]);
  });

  it("that refers to a later line", async () => {
    await forget();

    const lines = [
      { kind: "series", externalId: "s", name: "S", contributors: [{ contributor: "c" }] },
      { kind: "contributor-relation", from: "d", to: "c", relation_type: "x" },
      { kind: "contributor", externalId: "c", first_name: "C", client: 9 },
      { kind: "client", id: 9, name: "Nine" },
      { kind: "contributor", externalId: "c", first_name: "C", client: 9 },
    ];

    expect((await importing(...lines)).refused.map(({ line, field }) => [line, field])).toEqual([
      [1, "contributors.0.contributor"],
      [2, "from"],
      [3, "client"],
      [5, "externalId"],
    ]);
  });

  it("that would be the 101st relation", async () => {
    await forget();
    await importing(...many(103));
    const relation = (to: number) => ({
      kind: "contributor-relation",
      from: "many-0",
      to: `many-${to}`,
      relation_type: "x",
    });
    const relations = Array.from({ length: 102 }, (_, number) => relation(number + 1));

    expect(await importing(...relations.slice(0, 50))).toMatchObject({ added: 50 });
    expect(await importing(...relations)).toMatchObject({
      added: 50,
      unchanged: 50,
      refused: [
        { line: 101, field: "from", reason: "this record has as many relations as it may, 100" },
        { line: 102, field: "from" },
      ],
    });
    const [{ version } = { version: 0 }] =
      await stack.sql`select version from contributors where external_id = 'many-0'`;
    expect(version).toBe(3);
  });

  it("as if the lines came one by one, when names are handed on", async () => {
    await forget();
    await importing(...many(4));
    const rename = (number: number, to: string) => ({
      kind: "contributor",
      externalId: `many-${number}`,
      first_name: to,
    });

    const report = await importing(
      rename(0, "Somebody"),
      rename(1, "Many 0"),
      rename(2, "Many 3"),
      rename(3, "Other"),
      { kind: "contributor", externalId: "new", first_name: "Many 1" },
    );

    expect(report).toMatchObject({ added: 1, changed: 3, refused: [{ line: 3, field: "first_name" }] });
    expect(
      (await stack.sql`select first_name from contributors order by external_id`).map(({ first_name }) => first_name),
    ).toEqual(["Somebody", "Many 0", "Many 2", "Other", "Many 1"]);
  });

  it("each in the log, and the first hundred in the report", async () => {
    const log = vi.spyOn(console, "log");

    const report = await importing(...Array(700).fill("{}"));

    expect(report).toMatchObject({ lines: 700, refusedCount: 700 });
    expect(report.refused.map(({ line }) => line)).toEqual(Array.from({ length: 100 }, (_, number) => number + 1));
    const logged = log.mock.calls.map(([line]) => JSON.parse(String(line))).filter(({ refused }) => refused);
    log.mockRestore();
    expect(logged.map(({ refused }) => refused.line)).toEqual(Array.from({ length: 700 }, (_, number) => number + 1));
    expect(logged[0]).toMatchObject({ level: "warn", endpoint: "ops-import", refused: { field: "kind" } });
  });
});

describe("An import", () => {
  /** How many rows of contributors the changes left in the history. */
  const recorded = async () => {
    const [row] = await stack.sql`
      select count(*) from changes join changed_rows on change_id = changes.id where table_name = 'contributors'
    `;
    return row?.count;
  };
  const lines = many(1_300, (number) => (number % 97 === 5 ? { public: "maybe" } : {}));
  const source = textOf(lines);
  const done = { lines: 1_300, added: 1_286, refusedCount: 14, isDone: true };

  it.each([
    ...[1, 2, 3, 4].flatMap((number) => [
      [number, { kind: "error", status: 400, type: "BadRequestException", message: "Broken" } as const] as const,
      [number, { kind: "error-after", status: 400, type: "BadRequestException", message: "Broken" } as const] as const,
    ]),
  ])("that breaks off at call %i (%o) goes on there, and nothing is done twice", async (broken, fault) => {
    await forget();
    stack.dataApi.calls.length = 0;
    stack.dataApi.intercept(({ number }) => (number === broken ? fault : undefined));

    await expect(run({ source })).rejects.toThrow("Broken");
    stack.dataApi.intercept(undefined);
    const half = await stack.sql`select lines, added from imports`;
    expect(half).toHaveLength(broken === 1 || (broken === 2 && fault.kind === "error") ? 0 : 1);

    // The last batch was done, so this is another run.
    const isOver = broken === 4 && fault.kind === "error-after";
    expect(await run({ source })).toMatchObject(isOver ? { ...done, added: 0 } : done);
    expect(await stack.sql`select count(*), count(distinct external_id) as records from contributors`).toEqual([
      { count: 1_286, records: 1_286 },
    ]);
    expect(await recorded()).toBe(1_286);
    expect(await run({ source })).toMatchObject({ ...done, added: 0, unchanged: 1_286 });
  });

  it.each(["drop-before", "drop-after", "503", "throttle", "cut-body"] as const)(
    "over a network that fails now and then (%s) does each line once",
    async (kind) => {
      await forget();
      let calls = 0;
      stack.dataApi.intercept(() => (calls++ % 2 === 0 ? { kind } : undefined));

      expect(await run({ source })).toMatchObject(done);

      stack.dataApi.intercept(undefined);
      expect(await run({ source })).toMatchObject({ added: 0, changed: 0, unchanged: 1_286 });
      expect(await recorded()).toBe(1_286);
    },
  );

  it("may run twice at once, of one file or of several", async () => {
    await forget();
    const other = textOf([...lines, { kind: "contributor", externalId: "last", first_name: "Last" }]);

    const reports = await Promise.all([run({ source }), run({ source }), run({ source: other })]);

    expect(reports.map(({ isDone, lines }) => ({ isDone, lines }))).toEqual([
      { isDone: true, lines: 1_300 },
      { isDone: true, lines: 1_300 },
      { isDone: true, lines: 1_301 },
    ]);
    expect(await stack.sql`select count(*) from contributors`).toEqual([{ count: 1_287 }]);
    expect(await recorded()).toBe(1_287);
  });

  it("of a file reads it by pieces, however long the lines are", async () => {
    await forget();
    const of = (description: string) => ({ descriptions: Array(40).fill({ language: "en", description }) });
    const longest = of("手".repeat(20_000));
    const text = textOf(many(6, (number) => (number === 5 ? longest : of("word ".repeat(3_990)))));
    expect(text.length).toBeGreaterThan(4 * 2 ** 20);
    await put("imports/long.jsonl", `${"x".repeat(6 * 2 ** 20 + 1)}\n${text.trimEnd()}`);

    const report = await run({ source: `s3://${transferBucket}/imports/long.jsonl` });

    expect(report).toMatchObject({
      lines: 7,
      added: 6,
      refused: [{ line: 1, reason: "expected at most 6291456 bytes" }],
    });
    expect(await stack.sql`select count(*) from contributor_descriptions`).toEqual([{ count: 240 }]);
  });

  it("of a file that is put there anew begins anew", async () => {
    await forget();
    const file = `s3://${transferBucket}/imports/again.jsonl`;
    await put("imports/again.jsonl", textOf(many(2)));
    expect(await run({ source: file })).toMatchObject({ added: 2 });
    await put("imports/again.jsonl", textOf(many(3)));

    expect(await run({ source: file })).toMatchObject({ added: 1, unchanged: 2 });
  });

  it("of an empty file has nothing to do", async () => {
    await put("imports/empty.jsonl", "");

    expect(await run({ source: `s3://${transferBucket}/imports/empty.jsonl` })).toMatchObject({
      lines: 0,
      isDone: true,
    });
  });

  it.each([
    [
      { source: "s3://transfers/imports/none.jsonl" },
      /^s3:\/\/transfers\/imports\/none.jsonl cannot be read: there is no such object/,
    ],
    [{ source: "s3://elsewhere/file.jsonl" }, /^s3:\/\/elsewhere\/file.jsonl cannot be read: there is no such object/],
    [{ source: "s3://transfers" }, "`source` is neither s3://BUCKET/KEY nor lines of JSON"],
    [{ source: "file.jsonl" }, "`source` is neither s3://BUCKET/KEY nor lines of JSON"],
    [{ source: "{}", format: "csv" }, 'Invalid payload: format: must be "jsonl"'],
    [{}, /^Invalid payload: source: /],
  ])("fails for %j", async (payload, message) => {
    await expect(run(payload)).rejects.toThrow(message);
  });
});

describe("A dry run", () => {
  it("answers what the import would, and changes nothing", async () => {
    await forget();
    await importing(...catalogue);
    const lines = [
      { kind: "client", id: 70, name: "Seventy" },
      ...many(600, (number) => (number > 550 ? { client: 70, public: 5 } : { client: 70 })),
      { kind: "contributor-relation", from: "many-1", to: "many-2", relation_type: "x" },
      { kind: "contributor-relation", from: "many-1", to: "nobody", relation_type: "x" },
      { kind: "contributor", externalId: "many-3", gender: "female" },
      { kind: "contributor", externalId: "c1", gender: "none" },
      { kind: "series", externalId: "s2", name: "Two", contributors: [{ contributor: "many-4" }] },
      {
        kind: "series",
        externalId: "s1",
        contributors: [{ contributor: "c1", role: "author" }, { contributor: "c2" }, { contributor: "many-4" }],
      },
      { kind: "series", externalId: "s1", contributors: [{ contributor: "many-590" }] },
    ];
    const before = await rowsOf(stack.sql);
    const sizes = async () =>
      await stack.sql`select (select count(*) from imports) as imports, (select count(*) from changes) as changes`;
    const recorded = await sizes();

    const tried = await run({ source: textOf(lines), dryRun: true });

    expect(await rowsOf(stack.sql)).toEqual(before);
    expect(await sizes()).toEqual(recorded);
    expect(tried).toEqual(await run({ source: textOf(lines) }));
    expect(tried).toMatchObject({ isDone: true, added: 554, changed: 3, refusedCount: 51 });
  });
});

describe("A dry run of several batches", () => {
  it("knows the names, slugs and images that records of earlier ones have got", async () => {
    await forget();
    await importing({ kind: "contributor", externalId: "there", first_name: "There" });
    const lines = [
      { kind: "contributor", externalId: "there", image: "avatars/there.webp" },
      { kind: "contributor", externalId: "first", slug: "own", first_name: "İstanbul Weiß", image: "avatars/one.webp" },
      { kind: "publisher", externalId: "p1", name: "House" },
      ...many(500),
      { kind: "contributor", externalId: "second", first_name: "i̇stanbul WEISS" },
      { kind: "contributor-relation", from: "second", to: "many-1", relation_type: "x" },
      { kind: "contributor", externalId: "third", slug: "own", first_name: "Third" },
      { kind: "publisher", externalId: "p2", name: "House", slug: "own", image: "avatars/one.webp" },
      { kind: "publisher", externalId: "p3", name: "House", slug: "own" },
      { kind: "series", externalId: "s1", name: "S", volumes: [{ number: 1, cover: "avatars/there.webp" }] },
      { kind: "contributor", externalId: "there", image: "avatars/there.webp", gender: "any" },
    ];

    const tried = await run({ source: textOf(lines), dryRun: true });

    expect(tried.refused.map(({ line, field }) => [line, field])).toEqual([
      [504, "first_name"],
      [505, "from"],
      [506, "slug"],
      [507, "image"],
      [509, "volumes.0.cover"],
    ]);
    expect(tried).toEqual(await run({ source: textOf(lines) }));
  });
});

describe("A dry run of thirty thousand lines", () => {
  it("takes no locks of names, of which PostgreSQL has too few for it", async () => {
    await forget();

    const tried = await run({ source: textOf(many(30_000)), dryRun: true });

    expect(tried).toMatchObject({ isDone: true, added: 30_000, refusedCount: 0 });
  });
});

describe("An import beside others", () => {
  const administrator = useAdministrator(stack);

  it("waits for nobody for long, nor is in the way of additions and edits", async () => {
    await forget();
    const names = many(900, (number) => ({ public: true, gender: number % 2 ? "female" : null }));
    await importing(...names);
    const ids = (await stack.sql`select id from contributors order by id`).map(({ id }) => id);
    let isOver = false;
    const statuses = new Set<number>();
    const edits = Array.from({ length: 6 }, async (_, worker) => {
      for (let round = 0; !isOver; round++) {
        const pick = (step: number) => ids[(worker * 131 + round * step + step) % ids.length];
        const target = pick(7);
        const related = [pick(11), pick(13), pick(17)].filter((id) => id !== target);
        const edit = await stack.call("admin-contributors/edit", {
          as: administrator.token,
          path: { id: target },
          body: {
            first_name: `Edited ${target}`,
            public: round % 2 === 0,
            added_relations: related.map((relation_id) => ({ relation_id, relation_type: "x" })),
          },
        });
        const add = await stack.call("admin-contributors/add", {
          as: administrator.token,
          body: { first_name: `Added ${worker} ${round}` },
        });
        statuses.add(edit.status).add(add.status);
      }
    });
    const before = await deadlocks();
    for (let round = 0; round < 4; round++)
      await importing(
        ...many(900, (number) => ({
          first_name: `Many ${number}`,
          public: (number + round) % 2 === 0,
          gender: `${round}`,
        })),
        ...many(300, (number) => ({ externalId: `more-${round}-${number}`, first_name: `More ${round} ${number}` })),
      );
    isOver = true;
    await Promise.all(edits);

    expect([...statuses].filter((status) => status !== 200 && status !== 400)).toEqual([]);
    expect(await deadlocks()).toEqual(before);
    const [tallied] = await stack.sql`select sum(total)::int as total from counters where subject = 'contributors'`;
    expect(await stack.sql`select count(*)::int as total from contributors`).toEqual([tallied]);
  });

  const deadlocks = async () =>
    await stack.sql`select deadlocks from pg_stat_database where datname = current_database()`;
});

describe("An import that takes longer than its function may", () => {
  it("stops in time, and the next run goes on", async () => {
    const slow = await startStack({ timeouts: { longInMilliseconds: 31_500 } });
    // A run has 1.5 s, and twelve batches take 2.4 s on any machine.
    slow.dataApi.intercept(async () => void (await sleep(200)));
    try {
      const source = textOf(many(6_000));
      const runs: Report[] = [];
      do {
        const invocation = await slow.lambda.invoke("ops-import", { source });
        runs.push((invocation as { result: Report }).result);
      } while (!runs.at(-1)?.isDone);

      expect(runs.length).toBeGreaterThan(1);
      expect(runs[0]).toMatchObject({ isDone: false, added: runs[0]?.lines });
      expect(runs.at(-1)).toMatchObject({ lines: 6_000, added: 6_000 });
    } finally {
      await slow.close();
    }
  });
});
