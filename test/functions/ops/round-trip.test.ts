import { readFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { link } from "../../../lib/contract/links.ts";
import { name, requiredText, source } from "../../../lib/contract/parameters.ts";
import { parseLine } from "../../../lib/operators/catalogue-lines.ts";
import { type Exported, exportedText, exportFrom, linesOf, recordOf, referencesOf } from "../../support/exports.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack({ from: "demo", uploads: true });

const textOf = async (exported: Exported) => await exportedText(stack, exported);

async function importFrom(source: string): Promise<Record<string, unknown>> {
  const invocation = await stack.lambda.invoke("ops-import", { source });
  if ("error" in invocation) throw new Error(invocation.error.errorMessage);
  const report = invocation.result as Record<string, unknown>;
  expect(report).toMatchObject({ refused: [], isDone: true });
  return report;
}

const empty = () => stack.sql`truncate clients, contributors, publishers, series, tags, imports cascade`;

type Named = { readonly externalId: string };

const recordLine = <Fields extends { readonly slug: boolean }>(
  kind: string,
  index: number,
  { slug, ...fields }: Fields,
) => ({
  kind,
  externalId: `${kind}/${index}`,
  // A slug that no name before it can have taken.
  ...(slug && { slug: `said-${kind}-${index}` }),
  ...fields,
});

/** Of places those that there are, each with what is there. */
const withinReach = <Item extends { readonly place: number }, Made>(
  items: readonly Item[],
  records: readonly Named[],
  make: (item: Item, externalId: string) => Made,
): Made[] => {
  const found = items.map((item) => [item.place % Math.max(records.length, 1), item] as const);
  const once = found.filter(([at], index) => found.findIndex(([other]) => other === at) === index);
  return once.flatMap(([at, item]) => (records[at] ? [make(item, records[at].externalId)] : []));
};

/** Relations of one record to another, each once. */
function relationLines(
  kind: string,
  relations: readonly { readonly from: number; readonly to: number }[],
  records: readonly Named[],
): object[] {
  const at = (place: number) => records[place % Math.max(records.length, 1)]?.externalId;
  const lines = relations.map(({ from, to, ...type }) => ({ kind, from: at(from), to: at(to), ...type }));
  const apart = lines.filter(({ from, to }) => from !== to);
  return [...new Map(apart.map((each) => [JSON.stringify(each), each])).values()];
}

/** What of a line is the same whatever its record is called: its fields, without those that are as in a new record. */
function contentsOf(line: object): object {
  const parsed = parseLine(JSON.stringify(line));
  const { externalId: _, slug, from, to, contributors, publishers, tags, volumes, ...fields } = Object(parsed);
  const contents = {
    ...fields,
    tags: tags?.toSorted(),
    volumes: volumes?.toSorted((one: { number: number }, other: { number: number }) => one.number - other.number),
    roles: contributors?.map(({ role }: { role: string | null }) => role ?? "").sort(),
    publishers: publishers?.length,
  };
  return Object.fromEntries(Object.entries(contents).filter(([, each]) => each && Object(each).length !== 0));
}

/** Of the sort that the schema accepts, as it is stored. */
const accepted = (
  schema: { safeParse(value: string): { readonly data?: string | undefined } },
  text: fc.Arbitrary<string>,
) => text.map((each) => schema.safeParse(each).data ?? "").filter((each) => each !== "");

const awkward = ['"\\"', "\u{1f469}\u200d\u{1f680}", "Ａ", "é", "e\u0301", "'; drop table series; --", "{}", "null", ":a", "\u2028", "نام", "手塚", "%_\\", "$1", "ß"]; // biome-ignore format: a list
const text = fc.oneof(
  fc.constantFrom(...awkward),
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.string({ maxLength: 12 }),
);
const nameText = accepted(name, text);
const longText = accepted(
  requiredText,
  fc.oneof(
    text,
    text.map((each) => `${each}\n\t${each.repeat(900)}`),
  ),
);
const url = accepted(link, fc.webUrl());
const optional = fc.option(nameText, { nil: undefined });
const language = fc.constantFrom("English", "German", "Japanese");
const few = <Item>(item: fc.Arbitrary<Item>, maxLength = 3) => fc.array(item, { maxLength });
const imageKey = fc.option(fc.stringMatching(/^[a-z]{1,5}\/[\w~-]{1,8}\.webp$/), { nil: undefined });
const client = fc.constantFrom(undefined, 3, 70);
const place = fc.nat(1_000);

const described = few(fc.record({ language, description: longText, source: accepted(source, text) }));
const common = { client, slug: fc.boolean(), image: imageKey, descriptions: described };

/** Lines in the order of an export, whose references lead to earlier ones. */
const catalogues: fc.Arbitrary<readonly object[]> = fc
  .record({
    publishers: few(
      fc.record({
        ...common,
        name: nameText,
        short_name: optional,
        country: optional,
        website: fc.option(url, { nil: undefined }),
        headquarter: optional,
        founding_date: fc.constantFrom(undefined, "0001-01-01", "1909-12-31", "9999-12-31"),
        image_source: optional,
        aliases: few(fc.record({ title: nameText, language })),
      }),
      5,
    ),
    contributors: few(
      fc.record({
        ...common,
        public: fc.constantFrom(undefined, true, false),
        first_name: nameText,
        last_name: optional,
        gender: optional,
        type: optional,
        links: few(url),
        aliases: few(nameText),
      }),
      6,
    ),
    series: few(
      fc.record({
        client,
        slug: fc.boolean(),
        name: nameText,
        type: optional,
        origin: optional,
        tags: fc.uniqueArray(fc.constantFrom("a", "b b", "é", "手"), { maxLength: 3 }),
        aliases: few(fc.record({ name: nameText, language })),
        descriptions: few(fc.record({ language, description: longText })),
        volumes: fc.uniqueArray(
          fc.record({
            number: fc.oneof(fc.constantFrom(-(2 ** 31), 2 ** 31 - 1), fc.integer({ min: -9, max: 9 })),
            cover: imageKey,
            aspect_ratio: fc.constantFrom(undefined, 0.7, 0.1, 1e-300, 1e300, 2 / 3, 1),
            nsfw: fc.constantFrom(undefined, 0, 1),
            nsfw18: fc.constantFrom(undefined, 0, 1),
          }),
          { selector: ({ number }) => number, maxLength: 4 },
        ),
        credits: fc.uniqueArray(fc.record({ place, role: optional }), {
          selector: ({ place: at }) => at % 6,
          maxLength: 3,
        }),
        houses: fc.uniqueArray(place, { selector: (at) => at % 5, maxLength: 3 }),
      }),
      4,
    ),
    publisherRelations: few(fc.record({ from: place, to: place, type: nameText }), 8),
    contributorRelations: few(fc.record({ from: place, to: place, relation_type: nameText }), 8),
  })
  .map(({ publishers, contributors, series, publisherRelations, contributorRelations }) => {
    const houses = publishers.map((each, index) => recordLine("publisher", index, each));
    const people = contributors.map((each, index) => recordLine("contributor", index, each));
    // No two contributors may have the same name.
    for (const [index, each] of people.entries()) Object.assign(each, { first_name: `${each.first_name} ${index}` });
    const works = series.map(({ credits, houses: from, ...each }, index) => ({
      ...recordLine("series", index, each),
      contributors: withinReach(credits, people, ({ role }, externalId) => ({
        contributor: externalId,
        role,
      })),
      publishers: withinReach(
        from.map((at) => ({ place: at })),
        houses,
        (_, externalId) => externalId,
      ),
    }));
    return [
      { kind: "client", id: 3, name: "Third" },
      { kind: "client", id: 70, name: "Seventieth" },
      ...houses,
      ...relationLines("publisher-relation", publisherRelations, houses),
      ...people,
      ...relationLines("contributor-relation", contributorRelations, people),
      ...works,
    ];
  });

describe("An export", () => {
  it("of the demo data is the file that they are loaded from, in which each line refers to earlier ones", async () => {
    const text = await textOf(await exportFrom(stack));

    expect(text).toBe(await readFile(join(import.meta.dirname, "../../../infra/local/demo/catalogue.jsonl"), "utf8"));
    const before = new Set<string | undefined>();
    for (const line of linesOf(text)) {
      for (const each of referencesOf(line)) expect(before).toContain(each);
      before.add(recordOf(line));
    }
  });

  it("changes nothing where it comes from", async () => {
    const exported = await exportFrom(stack);
    const count = Object.values(exported.lines).reduce((sum, each) => sum + each);

    expect(await importFrom(exported.target)).toMatchObject({ added: 0, changed: 0, unchanged: count });

    expect(await textOf(await exportFrom(stack))).toBe(await textOf(exported));
  });

  it("is what an export of the database is into which it is imported", async () => {
    const exported = await exportFrom(stack);
    const text = await textOf(exported);
    await empty();

    expect(await importFrom(exported.target)).toMatchObject({ changed: 0, unchanged: 0 });

    expect(await textOf(await exportFrom(stack))).toBe(text);
  });

  it("is so for any catalogue that an import accepts", async () => {
    await fc.assert(
      fc.asyncProperty(catalogues, async (lines) => {
        await empty();
        await importFrom(lines.map((each) => JSON.stringify(each)).join("\n"));
        // Records that were there before there were external ids have none.
        for (const table of ["contributors", "publishers", "series"])
          await stack.sql.query(`update ${table} set external_id = null where id % 2 = 0`);
        const exported = await exportFrom(stack);
        const text = await textOf(exported);
        expect(linesOf(text).map(contentsOf)).toEqual(lines.map(contentsOf));

        await empty();
        await importFrom(exported.target);

        expect(await textOf(await exportFrom(stack))).toBe(text);
      }),
      { numRuns: 5 },
    );
  });
});
