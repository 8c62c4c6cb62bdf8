import { beforeEach, describe, expect, it } from "vitest";
import { aContributor, add, aPublisher, aSeries, type Columns, type Entry } from "../support/catalogue.ts";
import { identifier, type Sql } from "../support/database.ts";
import { envelope } from "../support/envelope.ts";
import { useStack } from "../support/stack.ts";

/* What visitors read. */

const stack = useStack();
const images = "https://images.example.com";
const numbers = { max: 1, from: 0, to: 1 };

beforeEach(async () => {
  for (const table of ["contributors", "publishers", "series"]) await stack.sql`delete from ${identifier(table)}`;
});

type Query = Readonly<Record<string, string | number>>;

const read = async (name: string, query: Query = { client: 1 }, path = {}) =>
  (await stack.call(name, { query, path })).body;
const lookUp = (name: string, slug: string, headers: Readonly<Record<string, string>> = {}) =>
  stack.call(name, { path: { slug }, headers });
const added = async (table: string, columns: Columns) => (await add(stack.sql, table, columns)).id;

describe("GET /contributors", () => {
  const list = async (query: Query = {}) => await read("contributors/list", { client: 1, ...query });

  it("returns 200 with every field of the interface, which is empty or null where nothing is known", async () => {
    const names = { first_name: "Ursula K.", last_name: "Le Guin" };
    const contributor = await aContributor(stack.sql, { ...names, gender: "female", image: "avatars/le-guin.webp" });
    const { id } = await aContributor(stack.sql, { first_name: "Hergé" });
    await aSeries(stack.sql, { by: contributor }, { name: "Earthsea", slug: "earthsea" });

    expect(await list()).toEqual({
      contributors: [
        { id, first_name: "Hergé", last_name: "", image: null, gender: null, series_count: 0 },
        {
          id: contributor.id,
          ...names,
          image: `${images}/avatars/le-guin.webp`,
          gender: "female",
          series_count: 1,
          random_series: { name: "Earthsea", slug: "earthsea" },
        },
      ],
      max: 2,
      from: 0,
      to: 2,
    });
  });

  it("returns 200 with the slug behind the names on request", async () => {
    await aContributor(stack.sql);

    const [linked] = (await list({ include: "slug" })).contributors;

    expect(Object.keys(linked)).toEqual(["id", "first_name", "last_name", "slug", "image", "gender", "series_count"]);
  });

  it("returns 200 with an exact max after contributors were hidden and moved to another client", async () => {
    const hidden = await aContributor(stack.sql);
    const moved = await aContributor(stack.sql, { client_id: 1 });
    const { id } = await aContributor(stack.sql, { client_id: 1 });
    await stack.sql`update contributors set public = false where id = ${hidden.id}`;
    await stack.sql`update contributors set client_id = 2 where id = ${moved.id}`;

    expect(await list()).toMatchObject({ contributors: [{ id }], ...numbers });
  });

  it("returns 200 counting series in the client's scope, with a new random_series of them each time", async () => {
    const by = await aContributor(stack.sql);
    await aSeries(stack.sql, { by }, { name: "Foreign", client_id: 2 });
    for (const name of ["One", "Two", "Three"]) await aSeries(stack.sql, { by }, { name });

    const drawn = new Set<string>();
    for (let draw = 0; draw < 60; draw++) {
      const [{ series_count, random_series }] = (await list()).contributors;
      expect(series_count).toBe(3);
      drawn.add(random_series.name);
    }
    expect(drawn).toEqual(new Set(["One", "Two", "Three"]));
  });

  it("returns 200 finding a contributor by any of many long aliases, which no row of an index has room for", async () => {
    const longest = (first: number) =>
      Array.from({ length: 255 }, (_, n) => String.fromCodePoint(0xac00 + ((first + 7_919 * n) % 11_172))).join("");
    const { id } = await aContributor(stack.sql, { first_name: longest(1), last_name: longest(2) });
    const aliases = ["x".repeat(198), "", ...Array.from({ length: 199 }, (_, n) => longest(n)), "q"];
    await stack.sql`insert into contributor_aliases (contributor_id, name) select ${id}, unnest(${aliases}::text[])`;

    for (const search of ["q", "x", longest(100).slice(9, 19), `q ${longest(7).slice(3, 5)}`])
      expect((await list({ search })).max, search).toBe(1);
    expect((await list({ search: "y" })).max).toBe(0);
  });
});

it("GET /publishers returns 200 with every field of the interface, which is empty where nothing is known", async () => {
  const fields = { name: "Kōdansha", slug: "kodansha", country: "Japan", website: "https://www.kodansha.co.jp" };
  const more = { headquarter: "Tokyo", founding_date: "1909-11-17", image_source: "Wikimedia" };
  const all = { ...fields, ...more, short_name: "KDS", image: "publishers/kodansha.webp" };
  const publisher = await aPublisher(stack.sql, all);
  for (const client_id of [2, null]) await aSeries(stack.sql, { from: publisher }, { client_id });
  const bare = await aPublisher(stack.sql, { name: "Unknown" });
  const texts = ["short-name", "country", "website", "headquarter", "founding_date", "image", "image_source"];
  const empty = Object.fromEntries(texts.map((field) => [field, ""]));

  expect(await read("publishers/list", {})).toEqual({
    publishers: [
      {
        id: publisher.id,
        ...fields,
        ...more,
        "short-name": "KDS",
        series_count: 2,
        image: `${images}/publishers/kodansha.webp`,
      },
      { ...empty, ...bare, name: "Unknown", series_count: 0 },
    ],
    max: 2,
    from: 0,
    to: 2,
    count: 2,
  });
});

it("GET /publishers returns 200 with founding dates as precise as they are known", async () => {
  const known = ["1939", "1939-05", "2000-02-29", "0001-12-31"];
  for (const founding_date of known) await aPublisher(stack.sql, { founding_date });

  const { publishers } = await read("publishers/list", {});

  expect(publishers.map(({ founding_date }: { founding_date: string }) => founding_date)).toEqual(known);
});

it.each(["", "0000", "193", "1939-5", "1939-13", "1939-00", "1900-02-29", "1939-05-17 ", "19390517"])(
  "The database refuses '%s' as a founding date",
  async (founding_date) => {
    await expect(aPublisher(stack.sql, { founding_date })).rejects.toThrow("founding_date_check");
  },
);

describe("GET /contributor/slug/{slug}", () => {
  const find = async (slug: string) => (await lookUp("contributor/slug", slug)).body;

  it("returns 200 with every field of the interface", async () => {
    const names = { first_name: "Christopher", last_name: "Tolkien" };
    const other = await aContributor(stack.sql, names);
    const fields = { first_name: "J. R. R.", last_name: "Tolkien", slug: "j-r-r-tolkien", gender: "male" };
    const { id: contributor_id } = await aContributor(stack.sql, { ...fields, image: "avatars/tolkien.webp" });
    const hidden = await aContributor(stack.sql, { public: false });
    const [wiki, home] = ["https://en.wikipedia.org/wiki/Tolkien", "http://www.tolkienestate.com:8080"];
    await stack.sql`insert into contributor_links values (${contributor_id}, 1, ${wiki}), (${contributor_id}, 0, ${home})`;
    const alias = await added("contributor_aliases", { contributor_id, name: "Oxymore" });
    const text = { description: "A philologist.", language: "English" };
    const description = await added("contributor_descriptions", { contributor_id, ...text });
    const relations = { contributor_id, relation_type: "parent" };
    const relation = await added("contributor_relations", { ...relations, relation_id: other.id });
    await added("contributor_relations", { ...relations, relation_id: hidden.id });

    expect(await find("j-r-r-tolkien")).toEqual({
      id: contributor_id,
      ...fields,
      image: `${images}/avatars/tolkien.webp`,
      links: [
        { url: home, domain: "tolkienestate.com" },
        { url: wiki, domain: "en.wikipedia.org" },
      ],
      descriptions: [{ id: description, ...text, source: "" }],
      aliases: [{ id: alias, name: "Oxymore" }],
      relations: [
        {
          id: relation,
          relation_id: other.id,
          relation_type: "parent",
          name: "Christopher Tolkien",
          ...names,
          slug: other.slug,
        },
      ],
    });
  });

  it.each([
    { what: "the strong form of its tag", known: (tag: string) => tag.replace("W/", "") },
    { what: "its tag behind another", known: (tag: string) => `"other", ${tag}` },
  ])("returns 304 to a client that sends $what", async ({ known }) => {
    const { slug } = await aContributor(stack.sql);
    const { headers } = await lookUp("contributor/slug", slug);

    const reply = await lookUp("contributor/slug", slug, { "If-None-Match": known(headers.get("etag") ?? "") });

    expect(reply).toMatchObject({ status: 304, body: undefined });
    expect(reply.headers.get("vary")).toBe("Accept-Encoding, Origin");
    expect(headers.get("vary")).toBe("Accept-Encoding, Origin");
  });

  it("returns 200 to a client whose response has changed since", async () => {
    const { id, slug } = await aContributor(stack.sql);
    const { headers } = await lookUp("contributor/slug", slug);
    await stack.sql`update contributors set gender = 'female' where id = ${id}`;

    const { status } = await lookUp("contributor/slug", slug, { "If-None-Match": headers.get("etag") ?? "" });

    expect(status).toBe(200);
  });

  it("returns 404 to the slug of an unpublished contributor", async () => {
    const { slug } = await aContributor(stack.sql, { public: false });

    expect(await find(slug)).toEqual(envelope(404, "Contributor not found"));
  });
});

it("GET /publisher/slug/{slug} returns 200 with every field of the interface", async () => {
  const imprint = await aPublisher(stack.sql, { name: "Tor", slug: "tor", image: "publishers/tor.webp" });
  const fields = { name: "Macmillan", slug: "macmillan", country: "United Kingdom" };
  const website = "https://www.us.macmillan.com:443/publishers?x=1";
  const { id } = await aPublisher(stack.sql, { ...fields, website, image: "publishers/macmillan.webp" });
  const alias = { title: "Pan Mac", language: "English" };
  const text = { description: "Ein Verlag.", language: "German", source: "Wikipedia" };
  const aliasId = await added("publisher_aliases", { publisher_id: id, ...alias });
  const textId = await added("publisher_descriptions", { publisher_id: id, ...text });
  const relation = { relation_id: imprint.id, type: "imprint" };
  const relationId = await added("publisher_relations", { publisher_id: id, ...relation });

  expect((await lookUp("publisher/slug", "macmillan")).body).toEqual({
    id,
    ...fields,
    image: `${images}/publishers/macmillan.webp`,
    website,
    domain: "us.macmillan.com",
    descriptions: [{ id: textId, ...text }],
    aliases: [{ id: aliasId, ...alias }],
    relations: [{ id: relationId, ...relation, name: "Tor", image: `${images}/publishers/tor.webp`, slug: "tor" }],
  });
});

it.each([
  { kind: "contributor", add: aContributor, query: { include: "sort_name,language_code" } },
  { kind: "publisher", add: aPublisher, query: { include: "language_code" } },
] as const)("The detail of a $kind has the tag of each text's language on request", async ({ kind, add, query }) => {
  const { id, slug } = await add(stack.sql);
  const text = { [`${kind}_id`]: id, description: '"language_code":"English" \\' };
  for (const language of ["English", "Brazilian Portuguese", "Klingonese"])
    await added(`${kind}_descriptions`, { ...text, language });
  if (kind === "publisher") await added("publisher_aliases", { publisher_id: id, title: "角川", language: "Japanese" });

  const { body } = await stack.call(`${kind}/slug`, { path: { slug }, query });

  const { description } = text;
  expect(body.descriptions).toMatchObject(["en", "pt-BR", ""].map((code) => ({ description, language_code: code })));
  if (kind === "publisher") expect(body.aliases).toMatchObject([{ title: "角川", language_code: "ja" }]);
});

it.each([
  { kind: "contributor", add: aContributor, fields: ["type"] },
  { kind: "publisher", add: aPublisher, fields: ["short-name", "headquarter", "founding_date"] },
] as const)("The detail of a $kind has further fields on request, alone and all", async ({ kind, add, fields }) => {
  const values = { type: "author", "short-name": "KDS", headquarter: "Tokyo", founding_date: "1909-12" };
  const times = { added: "2026-01-02T03:04:05.678Z", changed: "2026-02-03T04:05:06.789Z" };
  const columns = Object.fromEntries(fields.map((field) => [field.replace("-", "_"), values[field]]));
  const changed = kind === "publisher" ? { changed_at: times.changed } : {};
  const { id, slug } = await add(stack.sql, { ...columns, ...changed, added_at: times.added });
  if (kind === "contributor")
    await stack.sql`update contributor_changes set changed_at = ${times.changed} where contributor_id = ${id}`;
  const bare = await add(stack.sql);
  const find = async (query: Readonly<Record<string, string>>, path = { slug }) =>
    (await stack.call(`${kind}/slug`, { path, query })).body;
  const plain = await find({});

  const known = { ...Object.fromEntries(fields.map((field) => [field, values[field]])), ...times };
  const include = Object.keys(known).join();
  expect(await find({ include })).toEqual({ ...plain, ...known });
  for (const [field, value] of Object.entries(known))
    expect(await find({ include: field })).toEqual({ ...plain, [field]: value });
  expect(await find({ include }, bare)).toMatchObject(Object.fromEntries(fields.map((field) => [field, ""])));
});

it("The detail of a publisher has its image with the size on request, and no small one", async () => {
  const find = async (columns: Columns) => {
    const { slug } = await aPublisher(stack.sql, columns);
    return (await stack.call("publisher/slug", { path: { slug }, query: { include: "images" } })).body.images;
  };

  const image = { image: "publishers/one.webp" };
  const url = `${images}/publishers/one.webp`;
  expect(await find({ ...image, image_size: "1200x800" })).toEqual([{ url, width: 1200, height: 800 }]);
  expect(await find(image)).toEqual([]);
  expect(await find({ image_size: "1200x800" })).toEqual([]);
});

it.each([
  {
    kind: "contributor",
    name: "first_name",
    add: aContributor,
    fields: { last_name: "", image: null, gender: null, links: [] },
  },
  { kind: "publisher", name: "name", add: aPublisher, fields: { image: "", website: "", domain: "", country: "" } },
] as const)(
  "The detail of a $kind with only a $name has nulls, empty strings and arrays",
  async ({ kind, name, add, fields }) => {
    const entry = await add(stack.sql, { [name]: "Bare" });

    const { body } = await lookUp(`${kind}/slug`, entry.slug);

    expect(body).toEqual({ ...entry, [name]: "Bare", ...fields, descriptions: [], aliases: [], relations: [] });
  },
);

describe.each([
  {
    title: "GET /contributor/random",
    endpoint: "contributor/random",
    message: "No contributors found",
    add: aContributor,
  },
  { title: "GET /publisher/random", endpoint: "publisher/random", message: "Publisher not found", add: aPublisher },
  {
    title: "GET /series/random",
    endpoint: "series/random",
    message: "No series found",
    add: (sql: Sql, columns: Columns) => aSeries(sql, {}, columns),
  },
])("$title", ({ endpoint, message, add }) => {
  beforeEach(async () => {
    await aContributor(stack.sql, { slug: "unpublished", public: false });
    await add(stack.sql, { slug: "foreign", client_id: 2 });
  });

  it("returns 200 with a string, of which each shared or own record is equally likely", async () => {
    await add(stack.sql, { slug: "shared" });
    for (const slug of ["own", "other"]) await add(stack.sql, { slug, client_id: 1 });

    const slugs: string[] = [];
    for (let time = 0; time < 300; time++) slugs.push(await read(endpoint));

    const counts = Object.groupBy(slugs, (slug) => slug);
    expect(Object.keys(counts).sort()).toEqual(["other", "own", "shared"]);
    // 100 each are expected; less than 55 happens once in ten million runs.
    for (const drawn of Object.values(counts)) expect(drawn?.length).toBeGreaterThan(55);
  });

  it("returns 404 where there is no record in the client's scope", async () => {
    expect(await read(endpoint)).toEqual(envelope(404, message));
  });
});

describe.each([
  { title: "GET /contributor/works/{id}", kind: "contributor", field: "works", relation: "by", make: aContributor },
  {
    title: "GET /publisher/publications/{id}",
    kind: "publisher",
    field: "publications",
    relation: "from",
    make: aPublisher,
  },
] as const)("$title", ({ kind, field, relation, make }) => {
  const endpoint = `${kind}/${field}`;
  const owner = () => make(stack.sql);
  const listOf = async ({ id }: Entry, query = {}) => await read(endpoint, { client: 1, ...query }, { id });

  it("returns 200 with every field of the interface", async () => {
    const entry = await owner();
    const fields = { name: "AKIRA", slug: "akira", type: "manga", origin: "Japan" };
    const { id: series_id } = await aSeries(stack.sql, { [relation]: entry }, fields);
    const japanese = { name: "アキラ", language: "Japanese" };
    const german = { name: "Akira, deutsch", language: "German" };
    const aliases = [
      { id: await added("series_aliases", { series_id, ...japanese }), ...japanese },
      { id: await added("series_aliases", { series_id, ...german }), ...german },
    ];
    await added("series_descriptions", { series_id, description: "Neo-Tokyo", language: "German" });
    const name = crypto.randomUUID();
    const tag = await added("tags", { name });
    await stack.sql`insert into series_tags values (${series_id}, ${tag})`;
    await added("volumes", { series_id, number: 3, cover: "covers/3.webp" });
    await added("volumes", { series_id, number: 1, cover: null });
    const covered = { series_id, number: 2, cover: "covers/2.webp", aspect_ratio: 0.65, nsfw: 1 };
    const volume = await added("volumes", covered);

    expect(await listOf(entry, { user_lang: "German" })).toEqual({
      [field]: [
        {
          id: series_id,
          ...fields,
          alias: "Akira, deutsch",
          ...(field === "publications" ? { aliases } : {}),
          description: "Neo-Tokyo",
          tags: [{ id: tag, name }],
          volume: { id: volume, cover_path: `${images}/covers/2.webp`, aspect_ratio: 0.65, nsfw: 1, nsfw18: 0 },
        },
      ],
      ...numbers,
    });
  });

  it("returns 200 with the tags of the chosen texts' languages on request, empty where no text is", async () => {
    const entry = await owner();
    const { id: series_id } = await aSeries(stack.sql, { [relation]: entry }, { name: "B" });
    await aSeries(stack.sql, { [relation]: entry }, { name: "A" });
    await added("series_aliases", { series_id, name: "乙", language: "Traditional Chinese" });
    await added("series_aliases", { series_id, name: "Бэ", language: "Uzbek (Cyrillic)" });
    await added("series_descriptions", { series_id, description: '"language_code":"Uzbek"', language: "Klingonese" });

    const works = (await listOf(entry, { user_lang: "zh-TW", include: "language_code" }))[field];

    const unknown = { description_language_code: "" };
    expect(works).toMatchObject([
      { alias: "A", language_code: "", description: "", ...unknown },
      { alias: "乙", language_code: "zh-Hant", description: '"language_code":"Uzbek"', ...unknown },
    ]);
    if (field === "publications")
      expect(works[1].aliases).toMatchObject([{ language_code: "zh-Hant" }, { language_code: "uz-Cyrl" }]);
  });

  describe("in the detail on request", () => {
    const included = { include: "works,series_count,language_code" };
    let entry: Entry;

    const detail = (query: Query) => stack.call(`${kind}/slug`, { path: { slug: entry.slug }, query });

    beforeEach(async () => {
      entry = await owner();
      const texts = { "100 %": "German", 'A "quoted", b': "English" };
      for (const [name, language] of Object.entries(texts)) {
        const { id: series_id } = await aSeries(stack.sql, { [relation]: entry }, { name });
        await added("series_aliases", { series_id, name: `${name} (${language})`, language });
        await added("series_descriptions", { series_id, description: ',"volume":null}', language });
      }
      const { id: series_id } = await aSeries(stack.sql, { [relation]: entry }, { name: "Other", client_id: 2 });
      await added("volumes", { series_id, number: 1, cover: "covers/1.webp" });
    });

    it.each([
      { client: 1, names: ["100 %", 'A "quoted", b'] },
      { client: 2, names: ["100 %", 'A "quoted", b', "Other"] },
    ])("returns 200 with the same as in the list for client $client", async ({ client, names }) => {
      for (const user_lang of ["de", "en"]) {
        const list = await listOf(entry, { client, user_lang, include: "language_code" });

        const { body } = await detail({ ...included, client, user_lang });

        expect(body.works.map(({ name }: { name: string }) => name)).toEqual(names);
        expect([body.works, body.series_count]).toEqual([list[field], list.max]);
      }
    });

    it("returns 200 with those of all clients where none is named", async () => {
      expect((await detail(included)).body).toMatchObject({ works: [{}, {}, { name: "Other" }], series_count: 3 });
    });

    it("returns 200 with their number without them", async () => {
      expect((await detail({ include: "series_count", client: 1 })).body).toMatchObject({ series_count: 2 });
    });

    it("returns 200 with the cache tag of all series", async () => {
      expect((await detail(included)).headers.get("Cache-Tag")).toBe(`${kind}-${entry.id},series`);
    });

    it("returns 200 without them, and without that tag, where they are not requested", async () => {
      const { body, headers } = await detail({ client: 1 });

      for (const word of ["works", "series_count"]) expect(body).not.toHaveProperty(word);
      expect(headers.get("Cache-Tag")).toBe(`${kind}-${entry.id}`);
    });
  });

  describe("in the detail for one client", () => {
    const include = "works";
    let entry: Entry;
    let foreign: Entry;
    let own: Entry;

    const detail = ({ slug }: Entry, query: Query) => stack.call(`${kind}/slug`, { path: { slug }, query });
    const related = async (query: Query) => {
      const { body, headers } = await detail(entry, query);
      const tags = [entry, foreign, own].map(({ id }) => `${kind}-${id}`);
      expect(headers.get("Cache-Tag")?.split(",").sort()).toEqual(
        [...tags, ...("include" in query ? ["series"] : [])].sort(),
      );
      return body.relations.map(({ slug }: Entry) => slug);
    };

    beforeEach(async () => {
      entry = await owner();
      foreign = await make(stack.sql, { client_id: 2 });
      own = await make(stack.sql);
      for (const { id } of [foreign, own])
        await added(`${kind}_relations`, {
          [`${kind}_id`]: entry.id,
          relation_id: id,
          [kind === "publisher" ? "type" : "relation_type"]: "friend",
        });
    });

    it("returns 200 with the related ones in the client's scope", async () => {
      expect(await related({ include, client: 1 })).toEqual([own.slug]);
      expect(await related({ include, client: 2 })).toEqual([foreign.slug, own.slug]);
    });

    it("returns 200 with all related ones where no client is named", async () => {
      expect(await related({ include })).toEqual([foreign.slug, own.slug]);
    });

    it("returns 200 with all related ones where no works are requested", async () => {
      expect(await related({ client: 1 })).toEqual([foreign.slug, own.slug]);
    });

    it("returns 200 for a record of the client", async () => {
      expect((await detail(foreign, { include, client: 2 })).status).toBe(200);
    });

    it("returns 404 for a record of another client", async () => {
      expect((await detail(foreign, { include, client: 1 })).status).toBe(404);
    });

    it("returns 200 for a record of another client where no works are requested", async () => {
      expect((await detail(foreign, { client: 1 })).status).toBe(200);
    });
  });

  const addMany = ({ id }: Entry, count: number) => stack.sql`
    with added as (
      insert into series (name, slug)
      select 'S ' || lpad(n::text, 4, '0'), 'many-' || n from generate_series(1, ${count}) as n
      returning id
    )
    insert into ${identifier(`series_${kind}s`)} (${identifier(`${kind}_id`)}, series_id) select ${id}, id from added
  `;
  const included = async ({ slug }: Entry) =>
    (await stack.call(`${kind}/slug`, { path: { slug }, query: { client: 1, include: "works,series_count" } })).body;

  it("returns 200 with the first 999 in the detail, and their exact number", async () => {
    const entry = await owner();
    await addMany(entry, 1_100);

    const { works, series_count } = await included(entry);

    expect([works.length, series_count]).toEqual([999, 1_100]);
    expect(works).toEqual((await listOf(entry, { limit: 999 }))[field]);
  });

  it("returns 200 with fewer in the detail that are long, and their exact number", async () => {
    const entry = await owner();
    await addMany(entry, 1_100);
    await stack.sql`
      insert into series_descriptions (series_id, description, language)
      select id, repeat(md5(slug), 500), 'English' from series
    `;

    const { works, series_count } = await included(entry);

    expect(series_count).toBe(1_100);
    expect(works).toEqual((await listOf(entry, { limit: works.length }))[field]);
    expect(JSON.stringify(works).length).toBeLessThan(720_000);
    expect(JSON.stringify(works).length).toBeGreaterThan(690_000);
  });

  it("returns 200 with the first volume where none has a cover", async () => {
    const entry = await owner();
    const { id } = await aSeries(stack.sql, { [relation]: entry });
    await stack.sql`insert into volumes (series_id, number) values (${id}, 2), (${id}, 1)`;

    const [{ volume }] = (await listOf(entry))[field];

    expect(volume).toMatchObject({ cover_path: "", aspect_ratio: 0.7, nsfw: 0, nsfw18: 0 });
  });

  it("returns 200 without a volume where there is none, in a list that is streamed", async () => {
    const entry = await owner();
    await addMany(entry, 3_000);

    const works = (await listOf(entry))[field];

    expect(works).toHaveLength(3_000);
    expect(works.filter((each: object) => "volume" in each)).toEqual([]);
  });
});
