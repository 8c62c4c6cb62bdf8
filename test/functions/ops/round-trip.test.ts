import { readFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { link } from "../../../lib/contract/links.ts";
import { name, requiredText, source } from "../../../lib/contract/parameters.ts";
import { parseLine } from "../../../lib/operators/transfer/catalogue-lines.ts";
import { exportFrom, linesOf } from "../../support/exports.ts";
import { operate } from "../../support/operate.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack({ from: "demo", uploads: true });

const exported = async (): Promise<string> => (await exportFrom(stack)).text;

async function importFrom(source: string): Promise<Record<string, unknown>> {
  const report = await operate(stack, "ops-import", { source });
  expect(report).toMatchObject({ refused: [], isDone: true });
  return report;
}

const empty = () => stack.sql`truncate clients, contributors, publishers, series, tags, imports cascade`;

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
const paragraphs = text.map((each) => `${each}\n\t\u2028${each.repeat(900)}\u2029.`);
const longText = accepted(requiredText, fc.oneof(text, paragraphs));
const url = accepted(link, fc.webUrl());
const none = fc.constant(undefined);
const sourceText = accepted(source, text);
const optional = fc.option(nameText, { nil: undefined });
const language = fc.constantFrom("English", "German", "Japanese");
const few = <Item>(item: fc.Arbitrary<Item>, maxLength = 3) => fc.array(item, { maxLength });
const imageSize = fc.constantFrom(undefined, "1x1", "1024x683");
const imageKey = fc.option(fc.stringMatching(/^[a-z]{1,5}\/[\w~-]{1,8}\.webp$/), { nil: undefined });
const aliases = (field: string) => few(fc.record({ [field]: nameText, language }));

const idsOf = (kind: string, count: number) => Array.from({ length: count }, (_, index) => `${kind}/${index}`);
const [publishers, contributors, works] = [idsOf("publisher", 5), idsOf("contributor", 6), idsOf("series", 4)];

/** Lines about these records; some have a slug that no name before can have taken. */
const records = (
  kind: string,
  externalIds: readonly string[],
  fieldsOf: (externalId: string) => Record<string, fc.Arbitrary<unknown>>,
) =>
  fc.tuple(
    ...externalIds.map((externalId) =>
      fc.record({
        kind: fc.constant(kind),
        externalId: fc.constant(externalId),
        slug: fc.constantFrom(undefined, `said-${externalId.replace("/", "-")}`),
        client: fc.constantFrom(undefined, 3, 70),
        descriptions: fc.uniqueArray(
          fc.record({ language, description: longText, source: kind === "series" ? none : sourceText }),
          { selector: (each) => `${each.language} ${each.source}`, maxLength: 3 },
        ),
        ...fieldsOf(externalId),
      }),
    ),
  );

/** Relations of one record to another, each once. */
const relations = (kind: string, externalIds: readonly string[], type: string) => {
  const end = fc.constantFrom(...externalIds);
  const line = fc.record({ kind: fc.constant(kind), from: end, to: end, [type]: nameText });
  const ofTwo = line.filter(({ from, to }) => from !== to);
  return fc.uniqueArray(ofTwo, { selector: (each) => JSON.stringify(each), maxLength: 8 });
};

/** Lines in the order of an export, whose references lead to earlier ones. */
const catalogues = fc
  .tuple(
    fc.constant([
      { kind: "client", id: 3, name: "Third" },
      { kind: "client", id: 70, name: "Seventieth" },
    ]),
    records("publisher", publishers, () => ({
      name: nameText,
      short_name: optional,
      country: optional,
      website: fc.option(url, { nil: undefined }),
      headquarter: optional,
      founding_date: fc.constantFrom(undefined, "0001", "1909-12", "1909-12-31", "9999-12-31"),
      image: imageKey,
      image_size: imageSize,
      image_source: optional,
      aliases: aliases("title"),
    })),
    relations("publisher-relation", publishers, "type"),
    records("contributor", contributors, (externalId) => ({
      public: fc.constantFrom(undefined, true, false),
      // No two contributors may have the same name.
      first_name: nameText.map((each) => `${each} ${externalId}`),
      last_name: optional,
      disambiguation: optional,
      sort_name: optional,
      gender: optional,
      type: optional,
      image: imageKey,
      image_size: imageSize,
      links: few(url),
      aliases: few(nameText),
    })),
    relations("contributor-relation", contributors, "relation_type"),
    records("series", works, () => ({
      name: nameText,
      type: optional,
      origin: optional,
      tags: fc.uniqueArray(fc.constantFrom("a", "b b", "é", "手"), { maxLength: 3 }),
      aliases: aliases("name"),
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
      contributors: fc.uniqueArray(fc.record({ contributor: fc.constantFrom(...contributors), role: optional }), {
        selector: ({ contributor }) => contributor,
        maxLength: 3,
      }),
      publishers: fc.uniqueArray(fc.constantFrom(...publishers), { maxLength: 3 }),
    })),
  )
  .map((parts): readonly object[] => parts.flat());

describe("An export", () => {
  it("of the demo data is the file that they are loaded from", async () => {
    const file = join(import.meta.dirname, "../../../infra/local/demo/catalogue.jsonl");

    expect(await exported()).toBe(await readFile(file, "utf8"));
  });

  it("changes nothing where it comes from, and is what an export is of the database into which it is imported", async () => {
    const { target, text } = await exportFrom(stack);
    const count = linesOf(text).length;

    expect(await importFrom(target)).toMatchObject({ added: 0, changed: 0, unchanged: count });
    expect(await exported()).toBe(text);

    await empty();
    expect(await importFrom(target)).toMatchObject({ added: count });
    expect(await exported()).toBe(text);
  });

  it("is so for any catalogue that an import accepts", async () => {
    await fc.assert(
      fc.asyncProperty(catalogues, async (lines) => {
        await empty();
        await importFrom(lines.map((each) => JSON.stringify(each)).join("\n"));
        // Records that were there before there were external ids have none.
        for (const table of ["contributors", "publishers", "series"])
          await stack.sql.query(`update ${table} set external_id = null where id % 2 = 0`);
        const { target, text } = await exportFrom(stack);
        expect(linesOf(text).map(contentsOf)).toEqual(lines.map(contentsOf));
        expect(await importFrom(target)).toMatchObject({ unchanged: lines.length });

        await empty();
        await importFrom(target);

        expect(await exported()).toBe(text);
      }),
      { numRuns: 5 },
    );
  });
});
