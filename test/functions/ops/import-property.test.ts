import fc from "fast-check";
import { expect, it } from "vitest";
import type { ImportReport } from "../../../lib/operators/transfer/import-report.ts";
import { exportFrom } from "../../support/exports.ts";
import { operate } from "../../support/operate.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack({ uploads: true });

const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
/** So few values that lines often want what another one has. */
const among = (...values: readonly string[]) => fc.constantFrom(...values);
const id = among("a", "b", "c", "d", "slug:ann");
const name = among("Ann", "ann!", "Bea", "Cid");
const image = optional(among("avatars/1.webp", "avatars/2.webp", "avatars/3.webp"));
const slug = optional(among("ann", "ann-2", "bea"));
const client = optional(fc.constantFrom(1, 2, 3));

const line = fc.oneof(
  fc.record({ kind: fc.constant("client"), id: fc.constantFrom(2, 3), name }),
  fc.record({ kind: fc.constant("publisher"), externalId: id, name: optional(name), image, slug, client }),
  fc.record({
    kind: fc.constant("contributor"),
    externalId: id,
    first_name: optional(name),
    gender: optional(among("female", "male")),
    aliases: optional(fc.array(name, { maxLength: 3 })),
    image,
    slug,
    client,
  }),
  fc.record({ kind: fc.constant("contributor-relation"), from: id, to: id, relation_type: among("friend", "rival") }),
  fc.record({
    kind: fc.constant("series"),
    externalId: id,
    name: optional(name),
    tags: optional(fc.array(among("New", "new", "Old"), { maxLength: 3 })),
    volumes: optional(
      fc.uniqueArray(fc.record({ number: fc.integer({ min: 1, max: 3 }), cover: image }), {
        selector: ({ number }) => number,
      }),
    ),
    contributors: optional(fc.uniqueArray(fc.record({ contributor: id }), { selector: (each) => each.contributor })),
    publishers: optional(fc.uniqueArray(id, { maxLength: 2 })),
  }),
);

const importing = async (lines: readonly object[]): Promise<Pick<ImportReport, "lines" | "refused">> =>
  lines.length === 0
    ? { lines: 0, refused: [] }
    : await operate(stack, "ops-import", { source: lines.map((each) => JSON.stringify(each)).join("\n") });

const empty = async () => {
  await stack.sql`
    truncate clients, contributors, publishers, series, tags, imports, changes, history, images_to_remove cascade
  `;
  await stack.sql`delete from counters`;
};

const tables = async () => ({
  catalogue: (await exportFrom(stack)).text,
  versions: await stack.sql`select external_id, version from contributors order by external_id`,
  tags: await stack.sql`select name from tags order by name`,
});

/** A line between such lines is written by itself. */
const refusedLine = { kind: "contributor-relation", from: "nobody", to: "nobody", relation_type: "x" };

it("Lines that are imported at once, in parts and one by one give the same tables", async () => {
  const counts = { imported: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { maxLength: 8 }),
      fc.array(line, { minLength: 1, maxLength: 8 }),
      async (before, batch) => {
        await empty();
        await importing(before);
        const { refused } = await importing(batch.flatMap((each) => [each, refusedLine]));
        const oneByOne = await tables();
        const refusedNumbers = new Set(refused.map(({ line }) => line));
        const accepted = batch.filter((_, index) => !refusedNumbers.has(2 * index + 1));

        await empty();
        await importing(before);
        const atOnce = await importing(accepted);

        expect(atOnce).toMatchObject({ lines: accepted.length, refused: [] });
        expect(await tables()).toEqual(oneByOne);

        await empty();
        await importing(before);
        const inParts = await importing(batch);

        const linesOf = (numbers: Iterable<number>) => [...numbers].filter((number) => number % 2 === 1);
        expect(inParts.refused.map(({ line }) => 2 * line - 1)).toEqual(linesOf(refusedNumbers));
        expect(await tables()).toEqual(oneByOne);
        counts.imported += accepted.length;
        counts.refused += batch.length - accepted.length;
      },
    ),
    { numRuns: 20 },
  );
  expect(counts.imported).toBeGreaterThan(0);
  expect(counts.refused).toBeGreaterThan(0);
});
