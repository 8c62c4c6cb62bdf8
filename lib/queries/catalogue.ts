import sql, { join, raw, type Sql } from "sql-template-tag";
import { resultBytesMax } from "../data-api/chunks.ts";

/** A column, and the field of a line or of an element that says it. */
export interface Column {
  /** Undefined: the element itself. */
  readonly field: string | undefined;
  readonly name: string;
  /** The table of the records that it refers to. */
  readonly parent: string | undefined;
  /** What a line means that leaves the field out; undefined: no line does. */
  readonly empty: unknown;
  /** In SQL, the value for which null is stored, since it follows from other columns. */
  readonly derived?: string | undefined;
}

/** A list of a line, whose elements are rows of a table. */
export interface List {
  readonly field: string;
  readonly table: string;
  readonly columns: readonly Column[];
  /** The column by which elements of a record differ. Undefined: two may have the same values. */
  readonly key: string | undefined;
  /** By what an export orders it. */
  readonly order: string;
}

/** Where lines of a kind are stored. */
export interface LineTable {
  readonly table: string;
  readonly columns: readonly Column[];
  readonly lists: readonly List[];
}

/** More do not fit into a result, unless their lines are short. */
const linesMax = 500;

/**
 * As many lines of a kind, of a client or of all, as fit into a result, and at least one, by the ids of their records:
 * a row of their `text`, their `count` and the id after which the next ones come, or null after the last line. A line
 * has the fields in the order of lib/operators/README.md, without those that are null, empty or as a new record has
 * them, so the same catalogue always gives the same text.
 */
export const lines = (
  kind: string,
  { table, columns, lists }: LineTable,
  client: number | undefined,
  after: number,
): Sql => sql`
  with
    page as materialized (
      select ${raw(table)}.id, cast(json_strip_nulls(row_to_json(fields)) as text) as line
      from
        ${withReferences(table, columns)}
        cross join lateral (
          select ${join([
            sql`${kind}::text as kind`,
            ...columns.map((column) => sql`${columnValue(table, column)} as ${raw(`"${column.field}"`)}`),
            ...lists.map((list) => sql`${elements(client, kind, table, list)} as ${raw(list.field)}`),
          ])}
        ) as fields
      where
        ${raw(table)}.id > ${after}::bigint
        and ${join(areShown(client, table, columns), " and ")}
        and ${isRelation(columns) ? isFirst(table, columns) : sql`true`}
      order by ${raw(table)}.id
      limit ${linesMax}::bigint
    ),
    -- a materialized page keeps its order, so the window functions follow it
    measured as (
      select *, row_number() over () as position, sum(octet_length(line) + 1) over (rows unbounded preceding) as bytes
      from page
    )
  select
    string_agg(line || chr(10), '' order by position) as text,
    count(*) as count,
    case
      when count(*) < (select count(*) from page) or count(*) = ${linesMax}::bigint then max(id)
    end as next_id
  from measured
  where bytes <= ${raw(`${resultBytesMax}`)} or position = 1
`;

/**
 * How many references of a client's records the lines skip, since they name another client's: those between
 * records that the client shares with others.
 */
export const countSkipped = (client: number, tables: Readonly<Record<string, LineTable>>): Sql => sql`
  select ${join(
    Object.entries(tables).flatMap(([kind, { table, columns, lists }]) => [
      ...(isRelation(columns)
        ? [countOf(withReferences(table, columns), join(areShown(client, table, columns), " <> "))]
        : []),
      ...lists.flatMap((list) =>
        areShown(client, list.table, list.columns).map((isInScope) =>
          countOf(
            sql`${withReferences(list.table, list.columns)} join ${raw(`${table} on ${table}.id = ${list.table}.${kind}_id`)}`,
            sql`${join(areShown(client, table, columns))} and not ${isInScope}`,
          ),
        ),
      ),
    ]),
    " + ",
  )}
`;

const countOf = (rows: Sql, condition: Sql): Sql => sql`(select count(*) from ${rows} where ${condition})`;

const elements = (client: number | undefined, kind: string, owner: string, { table, columns, order }: List): Sql => sql`
  (
    select json_agg(${elementOf(table, columns)} order by ${raw(order)})
    from ${withReferences(table, columns)}
    where ${join([raw(`${table}.${kind}_id = ${owner}.id`), ...areShown(client, table, columns)], " and ")}
  )
`;

function elementOf(table: string, columns: readonly Column[]): Sql {
  const values = columns.map((column) => columnValue(table, column));
  if (columns[0]?.field === undefined) return join(values);
  return sql`json_build_object(${join(columns.map(({ field }, index) => sql`${raw(`'${field}'`)}, ${values[index]}`))})`;
}

/** The value of a column; null where a line leaves the field out. */
function columnValue(table: string, column: Column): Sql {
  const [{ called } = { called: `${table}.${column.name}` }] = referencesOf(table, [column]);
  if (column.empty === undefined) return raw(called);
  return raw(`cast(nullif(cast(to_json(${called}) as text), '${JSON.stringify(column.empty ?? "")}') as json)`);
}

/** The records that rows of a table are or reference, and what a file calls them; each client has its scope. */
const referencesOf = (table: string, columns: readonly Column[]) =>
  columns.flatMap(({ name, parent }) => {
    if (parent === undefined || name === "client_id") return [];
    if (parent === "tags") return [{ name, parent, alias: parent, called: "tags.name" }];
    const alias = name === "id" ? table : `of_${name}`;
    const called = parent === "clients" ? "clients.id" : `coalesce(${alias}.external_id, 'slug:' || ${alias}.slug)`;
    return [{ name, parent, alias, called }];
  });

const withReferences = (table: string, columns: readonly Column[]): Sql =>
  raw(
    [
      table,
      ...referencesOf(table, columns)
        .filter(({ alias }) => alias !== table)
        .map(({ parent, alias, name }) => `join ${parent} as ${alias} on ${alias}.id = ${table}.${name}`),
    ].join(" "),
  );

/** Whether records are in the client's scope, each. */
const areShown = (client: number | undefined, table: string, columns: readonly Column[]): Sql[] =>
  referencesOf(table, columns)
    .filter(({ parent }) => parent !== "tags")
    .map(({ parent, alias }) => {
      if (client === undefined) return sql`true`;
      return parent === "clients"
        ? sql`clients.id = ${client}::bigint`
        : sql`(${raw(alias)}.scope in (0, ${client}::bigint))`;
    });

const isRelation = (columns: readonly Column[]): boolean => columns.every(({ name }) => name !== "id");

/** A relation that is there twice is one. */
function isFirst(table: string, columns: readonly Column[]): Sql {
  const valuesOf = (alias: string) => columns.map(({ name }) => `${alias}.${name}`).join(", ");
  return raw(
    `not exists (select from ${table} as same where (${valuesOf("same")}) = (${valuesOf(table)}) and same.id < ${table}.id)`,
  );
}
