import * as z from "zod/mini";
import { quotation } from "../quotation.ts";

const values = z.nullable(z.record(z.string(), z.unknown()));

/** What a change did to a row of a table (lib/changes/described-change.sql). */
export const changedRow = z.object({
  /** `contributor/5` */
  record: z.string(),
  /** What the row is of its record, as `alias`; absent if it is the record itself. */
  noun: z.optional(z.string()),
  /** Its primary key without the record's id. */
  key: z.optional(z.record(z.string(), z.unknown())),
  /** The kinds of records that columns reference. */
  references: z.optional(z.record(z.string(), z.string())),
  /** Null if the row was inserted. */
  before: values,
  /** Null if the row was deleted. */
  after: values,
});
export type ChangedRow = z.output<typeof changedRow>;

const common = {
  id: z.number(),
  at: z.string(),
  /** Null: another program, or a migration. */
  endpoint: z.nullable(z.string()),
  /** As which it was logged in to PostgreSQL. */
  role: z.string(),
  requestId: z.nullable(z.string()),
  /** Null: no user of this service. */
  userId: z.nullable(z.number()),
  /** Of the request's record; a change as operators read it has `contributor 5`. */
  record: z.nullable(z.string()),
  /** The operator's. */
  reason: z.nullable(z.string()),
  undoes: z.nullable(z.array(z.number())),
  undoneBy: z.nullable(z.number()),
};

/** A row of the ledger, as lib/queries/changes.ts selects it. */
export const ledgerRow = z.object({
  ...common,
  username: z.nullable(z.string()),
  operator: z.nullable(z.string()),
  described: z.object({
    records: z.number(),
    record: z.nullable(z.string()),
    counts: z.array(z.object({ operation: z.string(), kind: z.string(), count: z.number() })),
    rowCount: z.number(),
    /** The first ones. */
    rows: z.nullable(z.array(changedRow)),
  }),
});
export type LedgerRow = z.output<typeof ledgerRow>;

/** A change as operators read it. */
export const listedChange = z.object({
  ...common,
  /** The user's name at that time, null of a deleted user; or that of the operator, if they said it. */
  by: z.nullable(z.string()),
  /** What the record is called. */
  name: z.nullable(z.string()),
  /** A line for each column and each element that was changed. */
  what: z.array(z.string()),
});
export type ListedChange = z.output<typeof listedChange>;

/** What a record is called, by `contributor/5`; undefined if that is not known. */
export type NameOf = (record: string) => string | undefined;

/** Of a change with more only their number is shown, unless the change is selected. */
const linesMax = 50;

export function changeInWords(change: LedgerRow, nameOf: NameOf, isSelected: boolean): ListedChange {
  const { described, record: concerned, username, operator, ...rest } = change;
  const record = described.record ?? concerned;
  const { rows, rowCount, counts } = described;
  const lines = rows ? rowsInWords(rows, nameOf) : countsInWords(counts);
  const rowsLeft = rows ? rowCount - rows.length : 0;
  const what = [
    ...(isSelected ? lines : firstOf(lines)),
    ...(rowsLeft > 0 ? [`and ${rowsLeft.toLocaleString("en")} rows more`] : []),
  ];
  return {
    ...rest,
    by: username ?? operator,
    record: record?.replace("/", " ") ?? (described.records > 0 ? `${described.records} records` : null),
    name: (record && nameOf(record)) || null,
    what,
  };
}

const firstOf = (lines: string[]): string[] =>
  lines.length <= linesMax ? lines : [...lines.slice(0, linesMax), `and ${lines.length - linesMax} lines more`];

/** `added 1,200 contributors` */
const countsInWords = (counts: LedgerRow["described"]["counts"]): string[] =>
  counts.map(({ operation, kind, count }) => {
    const kinds = count === 1 || kind === "series" ? kind : `${kind}s`;
    return `${operation} ${count.toLocaleString("en")} ${kinds}`;
  });

/** Each line begins with its record, unless all rows belong to one. */
export function rowsInWords(rows: readonly ChangedRow[], nameOf: NameOf): string[] {
  const isOfOne = new Set(rows.map(({ record }) => record)).size === 1;
  return rows.flatMap((row) => {
    const record = [row.record.replace("/", " "), nameOf(row.record)].filter(Boolean).join(", ");
    const begin = isOfOne ? "" : `${record}: `;
    return rowInWords(row, nameOf).map((line) => `${begin}${line}`);
  });
}

function rowInWords(row: ChangedRow, nameOf: NameOf): readonly string[] {
  const { noun, key = {}, references = {}, before, after } = row;
  const value = (column: string, of: unknown) => valueInWords(of, references[column], nameOf);
  if (before && after) {
    const begin = noun === undefined ? "" : `${noun} ${keyInWords(key, value)}: `;
    return Object.entries(after).map(
      ([column, now]) => `${begin}${column} ${value(column, before[column])} → ${value(column, now)}`,
    );
  }
  if (noun === undefined) return [after ? "added" : "deleted"];
  // Numbers in a key are ids and positions, whereas texts say what the row is.
  const texts = Object.entries(key).filter(([, content]) => typeof content === "string");
  const contents = [...texts, ...Object.entries(after ?? before ?? {})].filter(
    ([, content]) => content !== null && content !== "",
  );
  const isPair = Object.keys(key).length > 0 && Object.keys(key).every((column) => column in references);
  if (isPair) {
    const more = contents.map(([column, content]) => `, ${column} ${value(column, content)}`).join("");
    return [`${noun} ${after ? "given" : "taken"}: ${keyInWords(key, value)}${more}`];
  }
  const parts = contents.map(([column, content]) =>
    contents.length === 1 ? value(column, content) : `${column} ${value(column, content)}`,
  );
  return [`${after ? "+" : "-"} ${noun} ${parts.join(", ") || keyInWords(key, value)}`];
}

const keyInWords = (key: Readonly<Record<string, unknown>>, value: (column: string, of: unknown) => string): string =>
  Object.entries(key)
    .map(([column, of]) => value(column, of))
    .join(" ");

/** `"Osamu"`, or `Editor (3)` of a reference. */
function valueInWords(value: unknown, kind: string | undefined, nameOf: NameOf): string {
  if (value === null || value === undefined) return "none";
  if (kind !== undefined) {
    const name = nameOf(`${kind}/${value}`);
    return name === undefined ? `${value}` : `${name} (${value})`;
  }
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "string" ? textInWords(value) : JSON.stringify(value);
}

/** A text in quotes, or the beginning and the length of a long one. */
function textInWords(text: string): string {
  const beginning = quotation(text);
  const length = beginning === text ? "" : ` (${[...text].length.toLocaleString("en")} characters)`;
  return JSON.stringify(beginning) + length;
}
