import { expect, it } from "vitest";
import { aSeries, type Columns, type Entry } from "./catalogue.ts";
import type { Sql } from "./database.ts";
import type { Reply, Stack } from "./stack.ts";

/* What holds for the works of a contributor as well as for the publications of a publisher. */

interface SeriesList {
  readonly stack: Stack;
  readonly endpoint: string;
  readonly field: "works" | "publications";
  readonly relation: "by" | "from";
  readonly anOwner: (columns?: Columns) => Promise<Entry>;
}

/** Gives a series names and descriptions by language. */
export async function translated(
  sql: Sql,
  series: Entry,
  aliases: Readonly<Record<string, string>>,
  descriptions: Readonly<Record<string, string>> = {},
): Promise<void> {
  for (const [language, name] of Object.entries(aliases)) {
    await sql`insert into series_aliases (series_id, name, language) values (${series.id}, ${name}, ${language})`;
  }
  for (const [language, description] of Object.entries(descriptions)) {
    await sql`insert into series_descriptions (series_id, description, language) values (${series.id}, ${description}, ${language})`;
  }
}

export function itListsSeries({ stack, endpoint, field, relation, anOwner }: SeriesList): void {
  const listOf = ({ id }: Entry, query: Readonly<Record<string, string | number>> = {}) =>
    stack.call(endpoint, { path: { id }, query: { client: 1, ...query } });
  const related = (owner: Entry, columns: Columns = {}) => aSeries(stack.sql, { [relation]: owner }, columns);
  const namesIn = ({ body }: Reply) => body[field].map(({ name }: { name: string }) => name);

  it.each([
    ["German", ["English", "German"], "German", "German"],
    ["ja", ["English", "Japanese"], "Japanese", "Japanese"],
    [undefined, ["German", "English"], "English", "English"],
    ["German", ["French", "English"], "English", "English"],
    // A name in another language says less than the series' own.
    ["German", ["French"], "Ring", "French"],
    ["Klingon", [], "Ring", ""],
  ])("answers 200 in %s of texts in %o, with the alias %s and the description %s", async (lang, all, ...expected) => {
    const owner = await anOwner();
    const texts = Object.fromEntries(all.map((each) => [each, each]));
    await translated(stack.sql, await related(owner, { name: "Ring" }), texts, texts);

    const { body } = await listOf(owner, lang ? { user_lang: lang } : {});

    const [{ alias, description }] = body[field];
    expect([alias, description]).toEqual(expected);
  });

  it("answers 200 in every order of the interface, paged", async () => {
    const owner = await anOwner();
    for (const name of ["élan", "Zen", "Dune"]) await related(owner, { name });

    expect(namesIn(await listOf(owner))).toEqual(["Dune", "élan", "Zen"]);
    expect(namesIn(await listOf(owner, { order: "name-desc" }))).toEqual(["Zen", "élan", "Dune"]);
    expect(namesIn(await listOf(owner, { order: "added-asc" }))).toEqual(["élan", "Zen", "Dune"]);
    expect(namesIn(await listOf(owner, { order: "added-desc" }))).toEqual(["Dune", "Zen", "élan"]);
    const { body } = await listOf(owner, { limit: 1, offset: 1 });
    expect(body).toMatchObject({ [field]: [{ name: "élan" }], max: 3, from: 1, to: 2 });
  });

  it("answers 200 with series whose name contains the search", async () => {
    const owner = await anOwner();
    for (const name of ["Dune Messiah", "Dune", "100% Dune"]) await related(owner, { name });

    expect((await listOf(owner, { search: "DUNE M" })).body).toMatchObject({
      [field]: [{ name: "Dune Messiah" }],
      max: 1,
    });
    expect(namesIn(await listOf(owner, { search: "%" }))).toEqual(["100% Dune"]);
  });

  it("answers 200 with series in the client's scope only", async () => {
    const owner = await anOwner();
    await related(owner, { name: "Shared" });
    await related(owner, { name: "Own", client_id: 1 });
    await related(owner, { name: "Foreign", client_id: 2 });

    expect((await listOf(owner)).body).toMatchObject({ [field]: [{ name: "Own" }, { name: "Shared" }], max: 2 });
  });

  it("answers 200 with an empty list for somebody who is missing or another client's", async () => {
    const foreign = await anOwner({ client_id: 2 });
    await related(foreign, { name: "Shared" });

    expect((await listOf(foreign)).body).toEqual({ [field]: [], max: 0, from: 0, to: 0 });
    expect(namesIn(await listOf(foreign, { client: 2 }))).toEqual(["Shared"]);
  });

  it("finds a series by its name and by any of its aliases, and gives it once", async () => {
    const owner = await anOwner();
    const atom = await related(owner, { name: "Tetsuwan Atom" });
    await translated(
      stack.sql,
      atom,
      { English: "Mighty Atom", German: "Atom der Mächtige", Japanese: "鉄腕アトム" },
      {},
    );
    await related(owner, { name: "Mighty Other" });
    await translated(stack.sql, await aSeries(stack.sql, {}, { name: "Of nobody" }), { English: "Mighty Atom" });
    const found = async (search: string, query = {}) => {
      const reply = await listOf(owner, { search, ...query });
      return [namesIn(reply), reply.body.max];
    };

    expect(await found("Mighty Atom")).toEqual([["Tetsuwan Atom"], 1]);
    expect(await found("atom")).toEqual([["Tetsuwan Atom"], 1]);
    expect(await found("MACHTIGE")).toEqual([["Tetsuwan Atom"], 1]);
    expect(await found("鉄腕")).toEqual([["Tetsuwan Atom"], 1]);
    expect(await found("mighty")).toEqual([["Mighty Other", "Tetsuwan Atom"], 2]);
    expect(await found("mighty", { limit: 1, offset: 1 })).toEqual([["Tetsuwan Atom"], 2]);
    expect(await found("ATOM of tetsuwan")).toEqual([[], 0]);
    expect(await found("MIGHTY\u00a0tetsuwan")).toEqual([["Tetsuwan Atom"], 1]);
    expect(await found("r o")).toEqual([["Mighty Other", "Tetsuwan Atom"], 2]);
    expect(await found("m%y")).toEqual([[], 0]);
  });
}
