import * as z from "zod/mini";
import type { Column, LineTable, List } from "../queries/catalogue.ts";

/** What is known of a value beside its schema. */
export interface Meaning {
  /** What it must be, in words. */
  readonly expected?: string;
  /** Where it is stored, if not in a column of the field's name. */
  readonly column?: string;
  /** The table of the record that it refers to. */
  readonly parent?: string;
  /** The table of the elements of a list. */
  readonly table?: string;
  /** The order of a list in an export. Default: by ids. */
  readonly order?: string;
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

function listOf(field: string, schema: z.core.$ZodType): readonly List[] {
  const array = bare(schema);
  const { table, order = `${table}.id`, column } = meaningOf(schema);
  if (!(array instanceof z.ZodMiniArray) || table === undefined) return [];
  const { element } = array._zod.def;
  const columns = fieldsOf(element).map(([name, each]) => columnOf(name, each, meaningOf(each)));
  const only = column === undefined ? meaningOf(element) : meaningOf(schema);
  return [{ field, table, order, columns: columns.length > 0 ? columns : [columnOf(undefined, element, only)] }];
}

/** Where the database keeps the fields of lines. */
export function tableOf(table: string, fields: readonly (readonly [string, z.core.$ZodType])[]): LineTable {
  const lists = fields.flatMap(([field, schema]) => listOf(field, schema));
  const isColumn = ([field]: readonly [string, unknown]) => lists.every((each) => each.field !== field);
  const columns = fields.filter(isColumn).map(([field, schema]) => columnOf(field, schema, meaningOf(schema)));
  return { table, columns, lists };
}

/** The schema of a field, or of an element. */
export function schemaIn(schema: z.core.$ZodType, key: PropertyKey): z.core.$ZodType {
  const outer = bare(schema);
  if (outer instanceof z.ZodMiniArray) return outer._zod.def.element;
  return Object.fromEntries(fieldsOf(outer))[String(key)] ?? outer;
}
