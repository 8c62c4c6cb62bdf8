import { beforeEach, describe, expect, it } from "vitest";
import { aContributor, add, aPublisher, aSeries, type Columns } from "../support/catalogue.ts";
import { identifier } from "../support/database.ts";
import { envelope, invalidParameter, missingParameters } from "../support/envelope.ts";
import { useStack } from "../support/stack.ts";

/* The pages of series; what all lists have in common is in lists.test.ts. */

const stack = useStack();
const images = "https://images.example.com";

type Query = Readonly<Record<string, string | number>>;
interface Named {
  readonly name: string;
}

beforeEach(async () => {
  for (const table of ["contributors", "publishers", "series", "tags"])
    await stack.sql`delete from ${identifier(table)}`;
});

const make = (name: string, columns: Columns = {}) => aSeries(stack.sql, {}, { name, ...columns });
const added = async (table: string, columns: Columns) => (await add(stack.sql, table, columns)).id;

async function tag(name: string, ...series: readonly { readonly id: number }[]): Promise<number> {
  const id = await added("tags", { name });
  for (const { id: series_id } of series) await stack.sql`insert into series_tags values (${series_id}, ${id})`;
  return id;
}

describe("GET /series", () => {
  const list = async (query: Query = {}) => (await stack.call("series/list", { query: { client: 1, ...query } })).body;
  const namesOf = ({ series }: { readonly series: readonly Named[] }) => series.map(({ name }) => name);

  it("returns 200 with every field of a work, in the requested language", async () => {
    const fields = { slug: "akira", type: "manga", origin: "Japan" };
    const { id: series_id } = await make("AKIRA", fields);
    const { id } = await make("Zenith", { slug: "zenith" });
    await added("series_aliases", { series_id, name: "Akira, deutsch", language: "German" });
    await added("series_descriptions", { series_id, description: "Neo-Tokyo", language: "German" });
    const classic = await tag("classic", { id: series_id });
    const volume = await added("volumes", { series_id, number: 2, cover: "covers/2.webp" });

    const { body, headers } = await stack.call("series/list", { query: { client: 1, limit: 9, user_lang: "de" } });

    const nothing = { type: "", origin: "", description: "", tags: [] };
    expect(body).toEqual({
      series: [
        {
          id: series_id,
          name: "AKIRA",
          ...fields,
          alias: "Akira, deutsch",
          description: "Neo-Tokyo",
          tags: [{ id: classic, name: "classic" }],
          volume: { id: volume, cover_path: `${images}/covers/2.webp`, aspect_ratio: 0.7, nsfw: 0, nsfw18: 0 },
        },
        { id, name: "Zenith", slug: "zenith", alias: "Zenith", ...nothing },
      ],
      max: 2,
      from: 0,
      to: 2,
    });
    expect(headers.get("Cache-Tag")).toBe("series");
    expect((await list()).series[0]).toMatchObject({ alias: "AKIRA", description: "Neo-Tokyo" });
    const [tagged] = (await list({ user_lang: "de", include: "language_code" })).series;
    expect(tagged).toMatchObject({ language_code: "de", description_language_code: "de" });
  });

  it("returns 200 in the order of sort names and backwards, in which numbers count as such", async () => {
    const sorted = ["20th Century Boys", "'Allo", "Vol. 2", "Vol. 10", "Жук"];
    for (const name of sorted.toSorted()) await make(name);

    expect(namesOf(await list({ order: "sort-name-asc" }))).toEqual(sorted);
    expect(namesOf(await list({ order: "sort-name-desc", limit: 2, offset: 1 }))).toEqual(["Vol. 10", "Vol. 2"]);
  });

  describe("with letters, types and tags", () => {
    beforeEach(async () => {
      const [alpha, beta] = [await make("Alpha", { type: "manga" }), await make("Beta", { type: "manga" })];
      const ether = await make("Äther", { type: "comic", client_id: 1 });
      await make("Abc", { client_id: 2 });
      await tag("Science Fiction", alpha, beta, ether);
      await tag("romance", beta);
    });

    interface Row {
      readonly which: string;
      readonly query: Query;
      readonly names: readonly string[];
    }

    it.each<Row>([
      { which: "of a type", query: { type: "manga" }, names: ["Alpha", "Beta"] },
      { which: "of a type in another case, which is none", query: { type: "Manga" }, names: [] },
      { which: "of any type, where it is empty", query: { type: "" }, names: ["Alpha", "Äther", "Beta"] },
      {
        which: "with a tag in another case",
        query: { tag: "science fiction" },
        names: ["Alpha", "Äther", "Beta"],
      },
      { which: "with a rare tag", query: { tag: "romance" }, names: ["Beta"] },
      { which: "with a part of a tag, which is none", query: { tag: "science" }, names: [] },
      { which: "of a letter", query: { letter: "a" }, names: ["Alpha", "Äther"] },
      { which: "of a letter that no series has", query: { letter: "Q" }, names: [] },
      { which: "of a letter and a type", query: { letter: "A", type: "manga" }, names: ["Alpha"] },
      {
        which: "of a letter and a type, with a tag",
        query: { letter: "A", tag: "Science Fiction", type: "comic" },
        names: ["Äther"],
      },
      {
        which: "of a type, with a tag",
        query: { tag: "science fiction", type: "manga" },
        names: ["Alpha", "Beta"],
      },
      { which: "that a search finds, of a type", query: { search: "a", type: "manga" }, names: ["Alpha", "Beta"] },
      {
        which: "that a search finds, of a letter and a type, with a tag",
        query: { search: "alp", type: "manga", tag: "science fiction", letter: "A" },
        names: ["Alpha"],
      },
      { which: "that a search finds, of another type", query: { search: "alp", type: "comic" }, names: [] },
    ])("returns 200 with those $which, and their number", async ({ query, names }) => {
      for (const order of ["name", "sort-name"]) {
        const found = await list({ ...query, order: `${order}-asc` });
        const backwards = await list({ ...query, order: `${order}-desc` });

        expect([namesOf(found), found.max]).toEqual([names, names.length]);
        expect(namesOf(backwards)).toEqual(names.toReversed());
      }
    });

    it("returns 200 with a page of those of a type, in the order of addition", async () => {
      const page = await list({ type: "manga", order: "added-desc", limit: 1 });

      expect(page).toMatchObject({ series: [{ name: "Beta" }], max: 2 });
    });

    it("returns 200 with a page of those with a tag, in the order of addition", async () => {
      const page = await list({ tag: "science fiction", order: "added-asc", offset: 1 });

      expect(namesOf(page)).toEqual(["Beta", "Äther"]);
    });
  });

  it("returns 200 with an exact max while series come, change and go", async () => {
    const [one, two] = [await make("A", { type: "manga" }), await make("A", { type: "manga", client_id: 1 })];
    await make("A", { type: "manga" });
    await stack.sql`update series set type = 'comic', name = 'B' where id = ${one.id}`;
    await stack.sql`update series set client_id = 2 where id = ${two.id}`;

    for (const { query, max } of [
      { query: {}, max: 2 },
      { query: { type: "manga" }, max: 1 },
      { query: { type: "comic" }, max: 1 },
      { query: { letter: "A" }, max: 1 },
      { query: { client: 2 }, max: 3 },
    ])
      expect([query, await list(query)]).toMatchObject([query, { max, to: max }]);
    await stack.sql`delete from series`;
    expect(await list({ type: "comic" })).toEqual({ series: [], max: 0, from: 0, to: 0 });
  });

  it("returns 200 finding a series by any of many long aliases, which no row of an index has room for", async () => {
    const { id } = await make("Long");
    await stack.sql`
      insert into series_aliases (series_id, name, language)
      select ${id}, n || repeat('x', 200) || case n when 90 then '手' else '' end, 'Japanese'
      from generate_series(1, 99) as n
    `;
    await make("Other");

    for (const search of ["手", "90xxx"]) expect(namesOf(await list({ search }))).toEqual(["Long"]);
  });

  it("returns 400 without a client", async () => {
    expect((await stack.call("series/list", { query: {} })).body).toEqual(missingParameters);
  });

  it.each([
    { what: "a type that is too long", parameter: "type", value: "x".repeat(256) },
    { what: "a type with a NUL", parameter: "type", value: "\0" },
    { what: "a tag that is too long", parameter: "tag", value: "x".repeat(256) },
    { what: "a tag with a NUL", parameter: "tag", value: "\0" },
    { what: "two letters", parameter: "letter", value: "ab" },
    { what: "an unknown order", parameter: "order", value: "id" },
  ])("returns 400 for $what", async ({ parameter, value }) => {
    expect(await list({ [parameter]: value })).toEqual(invalidParameter(parameter));
  });
});

describe("GET /series/slug/{slug}", () => {
  const look = (slug: string, query: Query = {}) => stack.call("series/slug", { path: { slug }, query });

  it("returns 200 with every field, in all languages", async () => {
    const [writer, artist] = [
      await aContributor(stack.sql, { first_name: "Zoe", last_name: "Able", image: "avatars/zoe.webp" }),
      await aContributor(stack.sql, { first_name: "Moebius" }),
    ];
    const [second, first] = [
      await aPublisher(stack.sql, { name: "Zed" }),
      await aPublisher(stack.sql, { name: "Ant", image: "logos/ant.svg" }),
    ];
    const fields = { name: "The Incal", slug: "the-incal", type: "comic", origin: "France" };
    const { id: series_id } = await aSeries(stack.sql, {}, fields);
    const aliases = [
      { name: "L'Incal", language: "French" },
      { name: "Der Incal", language: "German" },
    ];
    const descriptions = [
      { description: "A detective", language: "English" },
      { description: "Un détective", language: "French" },
    ];
    const volumes = [
      { number: 2, cover: "covers/2.webp", aspect_ratio: 0.65, nsfw: 1 },
      { number: 1, cover: null },
    ];
    const ids = {
      aliases: [] as number[],
      descriptions: [] as number[],
      volumes: [] as number[],
    };
    for (const each of aliases) ids.aliases.push(await added("series_aliases", { series_id, ...each }));
    for (const each of descriptions) ids.descriptions.push(await added("series_descriptions", { series_id, ...each }));
    for (const each of volumes) ids.volumes.push(await added("volumes", { series_id, ...each }));
    const tags = [await tag("space opera", { id: series_id }), await tag("Classic", { id: series_id })];
    await stack.sql`
      insert into series_contributors (contributor_id, series_id, role)
      values (${artist.id}, ${series_id}, 'artist'), (${writer.id}, ${series_id}, null)
    `;
    await stack.sql`insert into series_publishers values (${second.id}, ${series_id}), (${first.id}, ${series_id})`;

    const { body, headers } = await look("the-incal");

    expect(JSON.stringify(body)).toBe(
      JSON.stringify({
        id: series_id,
        ...fields,
        aliases: aliases.map((each, index) => ({ id: ids.aliases[index], ...each })),
        descriptions: descriptions.map((each, index) => ({ id: ids.descriptions[index], ...each })),
        tags: [
          { id: tags[1], name: "Classic" },
          { id: tags[0], name: "space opera" },
        ],
        volumes: [
          { id: ids.volumes[1], number: 1, cover_path: "", aspect_ratio: 0.7, nsfw: 0, nsfw18: 0 },
          {
            id: ids.volumes[0],
            number: 2,
            cover_path: `${images}/covers/2.webp`,
            aspect_ratio: 0.65,
            nsfw: 1,
            nsfw18: 0,
          },
        ],
        contributors: [
          {
            id: writer.id,
            first_name: "Zoe",
            last_name: "Able",
            slug: writer.slug,
            image: `${images}/avatars/zoe.webp`,
            role: "",
          },
          { id: artist.id, first_name: "Moebius", last_name: "", slug: artist.slug, image: null, role: "artist" },
        ],
        publishers: [
          { id: first.id, name: "Ant", slug: first.slug, image: `${images}/logos/ant.svg` },
          { id: second.id, name: "Zed", slug: second.slug, image: "" },
        ],
      }),
    );
    const tagged = (await look("the-incal", { include: "language_code" })).body;
    const codes = (texts: readonly { language_code: string }[]) => texts.map(({ language_code }) => language_code);
    expect([codes(tagged.aliases), codes(tagged.descriptions)]).toEqual([
      ["fr", "de"],
      ["en", "fr"],
    ]);
    expect(headers.get("Cache-Tag")?.split(",").sort()).toEqual(
      [
        `series-${series_id}`,
        ...[writer, artist].map(({ id }) => `contributor-${id}`),
        ...[first, second].map(({ id }) => `publisher-${id}`),
        ...tags.map((id) => `tag-${id}`),
      ].sort(),
    );
  });

  it("returns 200 without unpublished contributors, for whom the tag of their list stands", async () => {
    const hidden = await aContributor(stack.sql, { public: false });
    const { id, slug } = await aSeries(stack.sql, { by: hidden });

    const { body, headers } = await look(slug);

    expect(body).toMatchObject({ id, contributors: [] });
    expect(headers.get("Cache-Tag")).toBe(`series-${id},contributors`);
    await stack.sql`update contributors set public = true where id = ${hidden.id}`;
    expect((await look(slug)).body.contributors).toMatchObject([{ id: hidden.id }]);
  });

  it("returns 200 with the tags of lists where there would be more than fifty", async () => {
    const { id, slug } = await make("Anthology");
    await stack.sql`
      with added as (
        insert into contributors (first_name, slug, public)
        select 'Many ' || n, 'many-' || n, true from generate_series(1, 49) as n
        returning id
      )
      insert into series_contributors (contributor_id, series_id) select id, ${id} from added
    `;

    expect((await look(slug)).headers.get("Cache-Tag")?.split(",")).toHaveLength(50);
    await tag("short stories", { id });
    const { body, headers } = await look(slug);

    expect(body.contributors).toHaveLength(49);
    expect(headers.get("Cache-Tag")).toBe(`series-${id},contributors,tags`);
  });

  it.each([
    { what: "the contributors and publishers in the client's scope", query: { client: 1 }, count: 2 },
    { what: "all contributors and publishers where no client is named", query: {}, count: 3 },
  ])("returns 200 with $what", async ({ query, count }) => {
    const { id, slug } = await make("Shared");
    for (const client_id of [null, 1, 2]) {
      const { id: contributor_id } = await aContributor(stack.sql, { client_id });
      const { id: publisher_id } = await aPublisher(stack.sql, { client_id });
      await stack.sql`insert into series_contributors values (${contributor_id}, ${id})`;
      await stack.sql`insert into series_publishers values (${publisher_id}, ${id})`;
    }

    const { contributors, publishers } = (await look(slug, query)).body;

    expect([contributors.length, publishers.length]).toEqual([count, count]);
  });

  const statusWith = async (slug: string, etag: string | null) =>
    (await fetch(`${stack.url}/series/slug/${slug}`, { headers: { "If-None-Match": etag ?? "" } })).status;

  it("returns 304 to a client that has the response", async () => {
    const { slug } = await make("Same");
    const { headers } = await look(slug);

    expect(await statusWith(slug, headers.get("ETag"))).toBe(304);
  });

  it("returns 200 to a client whose response has changed since", async () => {
    const { id, slug } = await make("Changed");
    const { headers } = await look(slug);
    await added("volumes", { series_id: id, number: 1 });

    expect(await statusWith(slug, headers.get("ETag"))).toBe(200);
  });

  it("returns 400 without a slug", async () => {
    expect(await (await fetch(`${stack.url}/series/slug/`)).json()).toEqual(missingParameters);
  });

  it("returns 400 for a client that is no id", async () => {
    expect((await look("any", { client: 0 })).body).toEqual(invalidParameter("client"));
  });

  it("returns 404 to the slug of no series", async () => {
    expect((await look("none")).body).toEqual(envelope(404, "Series not found"));
  });

  it("returns 404 to the slug of a series out of the client's scope", async () => {
    const { slug } = await make("Foreign", { client_id: 2 });

    expect((await look(slug, { client: 1 })).body).toEqual(envelope(404, "Series not found"));
  });

  it.each([
    { whom: "anyone who names no client", query: {} },
    { whom: "its client", query: { client: 2 } },
  ])("returns 200 to the slug of a client's series for $whom", async ({ query }) => {
    const { slug } = await make("Foreign", { client_id: 2 });

    expect((await look(slug, query)).status).toBe(200);
  });
});

describe("GET /series/letters", () => {
  const letters = (client: number | string) => stack.call("series/letters", { query: { client } });

  it("returns 200 with the series of the client by letter, as the list has them", async () => {
    expect((await letters(1)).body).toEqual([]);
    await make("20th Century Boys", { client_id: 1 });
    const { id } = await make("Łódź", { type: "manga" });
    await make("Lupin", { client_id: 2 });

    const { body, headers } = await letters(1);

    expect(body).toEqual([
      { letter: "#", count: 1 },
      { letter: "L", count: 1 },
    ]);
    expect(headers.get("Cache-Tag")).toBe("series");
    expect((await letters(2)).body).toEqual([{ letter: "L", count: 2 }]);
    await stack.sql`update series set name = 'Жук' where id = ${id}`;
    expect((await letters(1)).body).toContainEqual({ letter: "Ж", count: 1 });
  });

  it("returns 400 without a client", async () => {
    expect((await letters("")).body).toEqual(missingParameters);
  });
});

it("A work, a publication and a random series lead to the page of the series", async () => {
  const [by, from] = [await aContributor(stack.sql), await aPublisher(stack.sql)];
  const { id } = await aSeries(stack.sql, { by, from });
  const query = { client: 1 };

  const { works } = (await stack.call("contributor/works", { path: { id: by.id }, query })).body;
  const { publications } = (await stack.call("publisher/publications", { path: { id: from.id }, query })).body;
  const { contributors } = (await stack.call("contributors/list", { query })).body;

  for (const { slug } of [works[0], publications[0], contributors[0].random_series])
    expect((await stack.call("series/slug", { path: { slug } })).body.id).toBe(id);
});
