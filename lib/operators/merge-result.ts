import * as z from "zod/mini";

const count = z.int().check(z.nonnegative());

/** What `ops-merge-contributors` returns. */
export const mergeResult = z.strictObject({
  /** The row in the ledger; of a dry run there is none. */
  change: z.optional(z.int()),
  kept: z.int(),
  merged: z.array(z.strictObject({ id: z.int(), name: z.string(), slug: z.string() })),
  /** What the kept one got: of series those that it was not in, of roles those that are longer now. */
  added: z.strictObject({
    aliases: z.array(z.string()),
    links: z.array(z.string()),
    /** Their languages. */
    descriptions: z.array(z.string()),
    relations: count,
    series: count,
    roles: count,
  }),
  /** Fields that were empty. */
  filled: z.partial(
    z.strictObject({ gender: z.string(), type: z.string(), image: z.string(), external_id: z.string() }),
  ),
  /** How many others have relations that lead to the kept one now. */
  redirected: count,
  skipped: z.strictObject({
    /** The first 300, and of each the beginning; the ledger has them all. */
    descriptions: z.array(z.strictObject({ record: z.int(), language: z.string(), description: z.string() })),
    /** The contributors whose avatars are removed. */
    images: z.array(z.int()),
  }),
});
