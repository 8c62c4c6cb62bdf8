import { bound, bySource, invalid, probe, row, transaction, unsupported } from "./probe.ts";
import * as source from "./sources.ts";

const tooLarge = unsupported("The result exceeds the size limit 1 MB.");
const mebibyte = 1024 * 1024;
const uuids = (rows: number) => `select md5(i::text)::uuid as id from generate_series(1, ${rows}) as i`;
/** The rows that fit when each has a uuid's 36 bytes, 4 for their length, and 2 for the count of columns. */
const rowsMax = Math.floor(mebibyte / 42);
const accents = "select repeat('é', 1000) from generate_series(1, :n)";
const statement = (characters: number) => `select '${"😀".repeat(characters - 17)}' is null`;
const sqlTooLong = "failed to satisfy constraint: Member must have length less than or equal to 65536";

export const sizes = bySource({
  [source.ez4]: [
    probe("1 MiB of values, 4 bytes a column and 2 a row", uuids(rowsMax), { records: `${rowsMax} rows` }),
    probe("one row more", uuids(rowsMax + 1), tooLarge),
    bound("1 MiB in characters of two bytes", accents, { n: 522 }, { records: "522 rows" }),
    bound("more of them", accents, { n: 523 }, tooLarge),
  ],
  [source.proxyNotes]: [
    transaction("after too large a result", [uuids(30_000), tooLarge], ["select 1", row(1)]),
    transaction(
      "a large result by a cursor",
      `declare large cursor for ${uuids(30_000)}`,
      ["fetch 20000 from large", { records: "20000 rows" }],
      ["fetch 20000 from large", { records: "10000 rows" }],
    ),
  ],
  [source.limitations]: [
    probe("a row of 64 KiB", "select repeat('x', 65530)", row("65530 characters")),
    probe("a row of more", "select repeat('x', 65531)", unsupported("Packet for query is too large")),
  ],
  [source.model]: [
    probe("a statement of 65,536 characters", statement(65_536), row(false)),
    probe(
      "a statement of one more",
      statement(65_537),
      invalid(`1 validation error detected: Value at 'sql' ${sqlTooLong}`),
    ),
    bound(
      "a request of nearly 4 MiB",
      "select length(:p)",
      { p: "x".repeat(4 * mebibyte - 5000) },
      row(4 * mebibyte - 5000),
    ),
  ],
  [source.unproved]: [
    bound("a request of more", "select length(:p)", { p: "x".repeat(4 * mebibyte) }, { status: 413 }),
  ],
});
