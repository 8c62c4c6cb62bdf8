import * as z from "zod/mini";
import type { Column, LineTable, List } from "../../queries/catalogue.ts";

/** A field of lines or of elements: what its value must be, and where it is stored. */
export interface Field<Schema extends z.ZodMiniType = z.ZodMiniType> {
  readonly schema: Schema;
  /** What a value must be, in words. */
  readonly expected: string;
  /** Where it is stored, if not in a column of the field's name. */
  readonly column?: string;
  /** The table of the record that it refers to. */
  readonly parent?: string;
  /** What null means. Without it the value cannot be null. */
  readonly empty?: unknown;
  /** In SQL, the value for which null is stored, since it follows from other columns. */
  readonly derived?: string;
  /** The fields of an object. */
  readonly fields?: Fields;
  /** The elements of a list, and where they are stored. */
  readonly list?: Omit<List, "field"> & { readonly element: Field };
}
export type Fields = Readonly<Record<string, Field>>;

type Stored = Pick<Field, "column" | "parent">;

/** A value that a line or an element has to have. */
export const field = <Schema extends z.ZodMiniType>(schema: Schema, expected: string, stored: Stored = {}) => ({
  schema,
  expected,
  ...stored,
});

/** A line may leave it out. */
export const optional = <Schema extends z.ZodMiniType>({ schema, ...more }: Field<Schema>) => ({
  ...more,
  schema: z.optional(schema),
});

/** A line may leave it out, and null empties it. */
export const or = <Schema extends z.ZodMiniType, const Empty>({ schema, ...more }: Field<Schema>, empty: Empty) => ({
  ...more,
  schema: z.optional(
    z.pipe(
      z.nullable(schema),
      z.transform((value): z.output<Schema> | Empty => value || empty),
    ),
  ),
  empty,
});
export const orNull = <Schema extends z.ZodMiniType>(each: Field<Schema>) => or(each, null);

/** An element that leaves it out, or has null, has the default. */
export const withDefault = <Schema extends z.ZodMiniType, const Default>(
  { schema, ...more }: Field<Schema>,
  empty: Default,
) => ({
  ...more,
  schema: z.pipe(
    z.optional(z.nullable(schema)),
    z.transform((value): z.output<Schema> | Default => value ?? empty),
  ),
  empty,
});

type ShapeOf<Given extends Fields> = { readonly [Name in keyof Given]: Given[Name]["schema"] };

function shapeOf<Given extends Fields>(fields: Given): ShapeOf<Given>;
function shapeOf(fields: Fields): Record<string, z.ZodMiniType> {
  return Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema]));
}

/** An element with fields. */
export const object = <Given extends Fields>(fields: Given) => ({
  schema: z.strictObject(shapeOf(fields)),
  expected: `an object with ${Object.keys(fields).join(", ")}`,
  fields,
});

interface ListOptions extends Stored {
  /** No two elements have the same values of these fields, or null: are the same. */
  readonly distinct?: readonly string[] | null;
  /** The column by which the database tells an element from others of its record. Default: none. */
  readonly key?: string;
  /** The order in an export. Default: by ids. */
  readonly order?: string;
}

/** A list in a table of its own. */
export function list<Schema extends z.ZodMiniType>(
  table: string,
  element: Field<Schema>,
  max: number,
  { distinct, key, order = `${table}.id`, ...stored }: ListOptions = {},
) {
  const keyOf = (value: unknown) => (distinct ? distinct.map((name) => Object(value)[name]).join("\n") : value);
  const isFine = (values: readonly unknown[]) =>
    distinct === undefined || new Set(values.map(keyOf)).size === values.length;
  const schema = z.array(element.schema).check(z.maxLength(max), z.refine(isFine));
  const others = distinct === undefined ? "" : `, each with another ${distinct?.join(" and ") ?? "value"}`;
  const columns = element.fields ? columnsOf(element.fields) : [columnOf(undefined, { ...element, ...stored })];
  return {
    ...or(field(schema, `a list of at most ${max} elements${others}`), []),
    list: { table, key, order, columns, element },
  };
}

const columnOf = (name: string | undefined, { column, parent, empty, derived }: Field): Column => ({
  field: name,
  name: column ?? name ?? "",
  parent,
  empty,
  derived,
});

const columnsOf = (fields: Fields): readonly Column[] =>
  Object.entries(fields).map(([name, each]) => columnOf(name, each));

/** A kind of lines, which are rows of this table. */
export function line<const Kind extends string, Given extends Fields>(kind: Kind, table: string, fields: Given) {
  const all: readonly (readonly [string, Field])[] = Object.entries(fields);
  const stored: LineTable = {
    table,
    columns: all.flatMap(([name, each]) => (each.list ? [] : [columnOf(name, each)])),
    lists: all.flatMap(([name, { list }]) => (list ? [{ field: name, ...list }] : [])),
  };
  return { schema: z.strictObject({ kind: z.literal(kind), ...shapeOf(fields) }), fields, ...stored };
}

/** What a field must be, in words. */
export const expectationOf = ({ expected, ...more }: Field): string =>
  "empty" in more ? `${expected}, or null` : expected;

/** The field at a path in a line, or the nearest above it. */
export function fieldAt(fields: Fields, path: readonly PropertyKey[]): Field {
  let found: Field = object(fields);
  for (const key of path) found = found.list?.element ?? found.fields?.[String(key)] ?? found;
  return found;
}
