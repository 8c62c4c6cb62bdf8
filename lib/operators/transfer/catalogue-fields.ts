import * as z from "zod/mini";
import type { Column, LineTable, List } from "../../queries/catalogue.ts";

/** What is known of a value beside its schema. */
export interface Meaning {
  /** What it must be, in words. */
  readonly expected?: string;
  /** Where it is stored, if not in a column of the field's name. */
  readonly column?: string;
  /** The table of the record that it refers to. */
  readonly parent?: string;
  /** Where the elements of a list are stored. */
  readonly list?: Omit<List, "field">;
}
const meanings = z.registry<Meaning>();

export function meaning<S extends z.core.$ZodType>(
  schema: S,
  expected: string,
  stored: Omit<Meaning, "expected"> = {},
): S {
  meanings.add(schema, { expected, ...stored });
  return schema;
}

/** What may be left out, or be null, without that. */
function bare(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodMiniOptional || schema instanceof z.ZodMiniNullable)
    return bare(schema._zod.def.innerType);
  return schema instanceof z.ZodMiniPipe && !meanings.has(schema) ? bare(schema._zod.def.in) : schema;
}

const meaningOf = (schema: z.core.$ZodType): Meaning => meanings.get(bare(schema)) ?? {};

const fieldsOf = (schema: z.core.$ZodType): readonly (readonly [string, z.core.$ZodType])[] =>
  schema instanceof z.ZodMiniObject ? Object.entries(schema._zod.def.shape) : [];

/** What a value of this schema must be, in words. */
export function expectationOf(schema: z.core.$ZodType): string {
  const {
    expected = `an object with ${fieldsOf(bare(schema))
      .map(([field]) => field)
      .join(", ")}`,
  } = meaningOf(schema);
  return z.safeParse(schema, null).success ? `${expected}, or null` : expected;
}

function columnOf(field: string | undefined, schema: z.core.$ZodType, { column, parent }: Meaning): Column {
  const empty = [undefined, null].map((value) => z.safeParse(schema, value).data).find((value) => value !== undefined);
  return { field, name: column ?? field ?? "", parent, empty };
}

/** Where elements are stored: the fields of an object, or the only value, also by what is said of all of them. */
export function columnsOf(element: z.core.$ZodType, only: Meaning): readonly Column[] {
  const fields = fieldsOf(element);
  if (fields.length === 0) return [columnOf(undefined, element, { ...meaningOf(element), ...only })];
  return fields.map(([field, schema]) => columnOf(field, schema, meaningOf(schema)));
}

/** Where the database keeps the fields of lines. */
export function tableOf(table: string, fields: readonly (readonly [string, z.core.$ZodType])[]): LineTable {
  const stored = fields.map(([field, schema]) => ({ field, schema, ...meaningOf(schema) }));
  return {
    table,
    columns: stored.flatMap(({ list, field, schema, ...more }) => (list ? [] : [columnOf(field, schema, more)])),
    lists: stored.flatMap(({ list, field }) => (list ? [{ field, ...list }] : [])),
  };
}

/** The schema of a field, or of an element. */
export function schemaIn(schema: z.core.$ZodType, key: PropertyKey): z.core.$ZodType {
  const outer = bare(schema);
  if (outer instanceof z.ZodMiniArray) return outer._zod.def.element;
  return Object.fromEntries(fieldsOf(outer))[String(key)] ?? outer;
}
