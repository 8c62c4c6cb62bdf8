import { beforeAll, describe, expect, it } from "vitest";
import { aContributor, addClients, aSeries, type Entry } from "../../support/catalogue.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack();

const worksOf = (id: number | string, query: Record<string, string | number> = {}) =>
  stack.call("contributor/works", { path: { id }, query: { client: 1, ...query } });
const namesIn = ({ body }: { body: { works: { name: string }[] } }) => body.works.map(({ name }) => name);

beforeAll(async () => {
  await addClients(stack.sql);
});

async function translated(series: Entry, aliases: Record<string, string>, descriptions: Record<string, string>) {
  const { sql } = stack;
  for (const [language, name] of Object.entries(aliases)) {
    await sql`insert into series_aliases (series_id, name, language) values (${series.id}, ${name}, ${language})`;
  }
  for (const [language, description] of Object.entries(descriptions)) {
    await sql`insert into series_descriptions (series_id, description, language) values (${series.id}, ${description}, ${language})`;
  }
}

describe("GET /contributor/works/{id}", () => {
  it("answers 200 with every field of the interface", async () => {
    const { sql } = stack;
    const author = await aContributor(sql);
    const series = await aSeries(sql, { by: author }, { name: "Momo", slug: "momo", type: "novel", origin: "Germany" });
    await translated(series, { English: "The Grey Gentlemen" }, { English: "A girl listens." });
    const [tag] = await sql`insert into tags (name) values ('fantasy') returning id`;
    await sql`insert into series_tags values (${series.id}, ${tag?.id})`;
    await sql`insert into volumes (series_id, number, cover) values (${series.id}, 3, 'covers/momo-3.webp'), (${series.id}, 1, null)`;
    const [volume] = await sql`
      insert into volumes (series_id, number, cover, aspect_ratio, nsfw)
      values (${series.id}, 2, 'covers/momo-2.webp', 0.65, 1)
      returning id
    `;

    const { status, body } = await worksOf(author.id);

    expect(status).toBe(200);
    expect(body).toEqual({
      works: [
        {
          id: series.id,
          name: "Momo",
          slug: "momo",
          type: "novel",
          origin: "Germany",
          alias: "The Grey Gentlemen",
          description: "A girl listens.",
          tags: [{ id: tag?.id, name: "fantasy" }],
          volume: {
            id: volume?.id,
            cover_path: "https://images.example.com/covers/momo-2.webp",
            aspect_ratio: 0.65,
            nsfw: 1,
            nsfw18: 0,
          },
        },
      ],
      max: 1,
      from: 0,
      to: 1,
    });
  });

  it("answers 200 with the first volume where none has a cover, and without the field where there is none", async () => {
    const author = await aContributor(stack.sql);
    const covered = await aSeries(stack.sql, { by: author }, { name: "A" });
    await aSeries(stack.sql, { by: author }, { name: "B" });
    await stack.sql`insert into volumes (series_id, number) values (${covered.id}, 2), (${covered.id}, 1)`;

    const { body } = await worksOf(author.id);

    expect(body.works[0].volume).toMatchObject({ cover_path: "", aspect_ratio: 0.7, nsfw: 0, nsfw18: 0 });
    expect(body.works[1]).not.toHaveProperty("volume");
  });

  it.each([
    ["German", { German: "Herr der Ringe", English: "Lord of the Rings" }, "Herr der Ringe"],
    ["de", { German: "Herr der Ringe", English: "Lord of the Rings" }, "Herr der Ringe"],
    ["German", { English: "Lord of the Rings", French: "Seigneur" }, "Lord of the Rings"],
    ["German", { French: "Seigneur" }, "Ring"],
    [undefined, { German: "Herr der Ringe", English: "Lord of the Rings" }, "Lord of the Rings"],
    ["Klingon", {}, "Ring"],
  ])("answers 200 with the alias for %s from %o: %s", async (user_lang, aliases, alias) => {
    const author = await aContributor(stack.sql);
    await translated(await aSeries(stack.sql, { by: author }, { name: "Ring" }), aliases, {});

    const { body } = await worksOf(author.id, user_lang ? { user_lang } : {});

    expect(body.works[0].alias).toBe(alias);
  });

  it.each([
    ["German", { English: "en", German: "de" }, "de"],
    ["ja", { English: "en", Japanese: "ja" }, "ja"],
    ["German", { French: "fr", English: "en" }, "en"],
    ["German", { French: "fr" }, "fr"],
    ["German", {}, ""],
  ])("answers 200 with the description for %s from %o: %s", async (user_lang, descriptions, description) => {
    const author = await aContributor(stack.sql);
    await translated(await aSeries(stack.sql, { by: author }), {}, descriptions);

    const { body } = await worksOf(author.id, { user_lang });

    expect(body.works[0].description).toBe(description);
  });

  it("answers 200 in every order of the interface, paged", async () => {
    const author = await aContributor(stack.sql);
    for (const name of ["élan", "Zen", "Dune"]) await aSeries(stack.sql, { by: author }, { name });

    expect(namesIn(await worksOf(author.id))).toEqual(["Dune", "élan", "Zen"]);
    expect(namesIn(await worksOf(author.id, { order: "name-desc" }))).toEqual(["Zen", "élan", "Dune"]);
    expect(namesIn(await worksOf(author.id, { order: "added-asc" }))).toEqual(["élan", "Zen", "Dune"]);
    expect(namesIn(await worksOf(author.id, { order: "added-desc" }))).toEqual(["Dune", "Zen", "élan"]);
    const { body } = await worksOf(author.id, { limit: 1, offset: 1 });
    expect(body).toMatchObject({ works: [{ name: "élan" }], max: 3, from: 1, to: 2 });
  });

  it("answers 200 with works whose name contains the search", async () => {
    const author = await aContributor(stack.sql);
    for (const name of ["Dune Messiah", "Dune", "100% Dune"]) await aSeries(stack.sql, { by: author }, { name });

    expect((await worksOf(author.id, { search: "DUNE M" })).body).toMatchObject({
      works: [{ name: "Dune Messiah" }],
      max: 1,
    });
    expect(namesIn(await worksOf(author.id, { search: "%" }))).toEqual(["100% Dune"]);
  });

  it("answers 200 with works in the client's scope only", async () => {
    const author = await aContributor(stack.sql);
    await aSeries(stack.sql, { by: author }, { name: "Shared" });
    await aSeries(stack.sql, { by: author }, { name: "Own", client_id: 1 });
    await aSeries(stack.sql, { by: author }, { name: "Foreign", client_id: 2 });

    expect((await worksOf(author.id)).body).toMatchObject({ works: [{ name: "Own" }, { name: "Shared" }], max: 2 });
  });

  it("answers 200 with an empty list for contributors that are missing, unpublished or another client's", async () => {
    const hidden = await aContributor(stack.sql, { public: false });
    await aSeries(stack.sql, { by: hidden });
    const foreign = await aContributor(stack.sql, { client_id: 2 });
    await aSeries(stack.sql, { by: foreign }, { name: "Shared" });

    expect((await worksOf(hidden.id)).body).toEqual({ works: [], max: 0, from: 0, to: 0 });
    expect((await worksOf(foreign.id)).body).toEqual({ works: [], max: 0, from: 0, to: 0 });
    expect(namesIn(await worksOf(foreign.id, { client: 2 }))).toEqual(["Shared"]);
    expect((await worksOf(999_999_999)).body).toEqual({ works: [], max: 0, from: 0, to: 0 });
  });

  it("answers 200 with texts that exceed the 64 KB of a row", async () => {
    const author = await aContributor(stack.sql);
    const description = "手".repeat(20_000);
    for (let n = 0; n < 20; n++)
      await translated(await aSeries(stack.sql, { by: author }), {}, { English: description });

    const { body } = await worksOf(author.id);

    expect(body.works.map((work: { description: string }) => work.description)).toEqual(Array(20).fill(description));
    for (const work of body.works) expect(work).not.toHaveProperty("volume");
  });

  it("finds a series by its name and by any of its aliases, and gives it once", async () => {
    const author = await aContributor(stack.sql);
    const atom = await aSeries(stack.sql, { by: author }, { name: "Tetsuwan Atom" });
    await translated(atom, { English: "Mighty Atom", German: "Atom der Mächtige", Japanese: "鉄腕アトム" }, {});
    await aSeries(stack.sql, { by: author }, { name: "Mighty Other" });
    await translated(await aSeries(stack.sql, {}, { name: "Of nobody" }), { English: "Mighty Atom" }, {});
    const found = async (search: string, query = {}) => {
      const reply = await worksOf(author.id, { search, ...query });
      return [namesIn(reply), reply.body.max];
    };

    expect(await found("Mighty Atom")).toEqual([["Tetsuwan Atom"], 1]);
    expect(await found("atom")).toEqual([["Tetsuwan Atom"], 1]);
    expect(await found("MACHTIGE")).toEqual([["Tetsuwan Atom"], 1]);
    expect(await found("鉄腕")).toEqual([["Tetsuwan Atom"], 1]);
    expect(await found("mighty")).toEqual([["Mighty Other", "Tetsuwan Atom"], 2]);
    expect(await found("mighty", { limit: 1, offset: 1 })).toEqual([["Tetsuwan Atom"], 2]);
    expect(await found("m%y")).toEqual([[], 0]);
  });
});
