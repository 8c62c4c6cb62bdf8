import type { Client } from "pg";
import type { Column } from "../query.ts";
import type { ResultType } from "../types.ts";

/** The table column that a column of a result comes from. */
interface Origin {
  column: string;
  table: string;
  nullable: number;
  automatic: boolean;
}

type Origins = ReadonlyMap<string, Origin>;

const keyOf = (table: number, column: number) => `${table}.${column}`;

/** Looks up the table columns of a result, in the session that ran the statement. */
export async function originsOf(client: Client, columns: Column[]): Promise<Origins> {
  const tables = new Set(columns.map(({ tableID }) => tableID).filter((id) => id > 0));
  if (tables.size === 0) return new Map();
  const { rows } = await client.query<Origin & { table_oid: string; number: number }>(
    `select a.attrelid::int8::text as table_oid, a.attnum::int4 as number, a.attname as column, c.relname as table,
       case when a.attnotnull then 0 else 1 end as nullable,
       a.attidentity <> '' or coalesce(pg_catalog.pg_get_expr(d.adbin, d.adrelid) like '%nextval(%', false) as automatic
     from pg_catalog.pg_attribute a
       join pg_catalog.pg_class c on c.oid = a.attrelid
       left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
     where a.attrelid = any($1::oid[]) and a.attnum > 0 and not a.attisdropped`,
    [[...tables]],
  );
  return new Map(rows.map(({ table_oid, number, ...origin }) => [keyOf(Number(table_oid), number), origin]));
}

/** The type that is reported for an auto-increment column. */
const declaredTypes = new Map([
  ["int2", "smallserial"],
  ["int4", "serial"],
  ["int8", "bigserial"],
]);

const precisions = new Map([
  ["bool", 1],
  ["date", 13],
  ["float4", 8],
  ["float8", 17],
  ["int2", 5],
  ["int4", 10],
  ["int8", 19],
  ["time", 15],
  ["timestamp", 29],
  ["timestamptz", 35],
]);
const unlimited = 2_147_483_647;

/** The members of ColumnMetadata; `label` is the alias, `name` the column behind it (AWS, RDS Data API model). */
export function describeColumns(columns: Column[], types: ResultType[], origins: Origins): unknown[] {
  return columns.map((column, at) => {
    const type = types[at];
    const origin = origins.get(keyOf(column.tableID, column.columnID));
    const typeName = type?.name ?? "unknown";
    const number = isNumber(typeName);
    return {
      arrayBaseColumnType: type?.element?.jdbc ?? 0,
      isAutoIncrement: origin?.automatic ?? false,
      isCaseSensitive: !number && !isMoment(typeName),
      isCurrency: false,
      isSigned: number,
      label: column.name,
      name: origin?.column ?? column.name,
      nullable: origin?.nullable ?? 2,
      precision: precisionOf(typeName, column.dataTypeModifier),
      scale: scaleOf(typeName, column.dataTypeModifier),
      schemaName: "",
      tableName: origin?.table ?? "",
      type: type?.jdbc ?? 1111,
      typeName: (origin?.automatic && declaredTypes.get(typeName)) || typeName,
    };
  });
}

const isNumber = (typeName: string) => /^(int[248]|float[48]|numeric)$/.test(typeName);

const isMoment = (typeName: string) => /^(date|time|timestamp|timestamptz)$/.test(typeName);

/** numeric(p,s) carries both in its modifier, varchar(n) and char(n) their length; 4 is added to either. */
function precisionOf(typeName: string, modifier: number): number {
  if (typeName === "numeric") return modifier < 0 ? 0 : ((modifier - 4) >> 16) & 0xffff;
  if (typeName === "varchar" || typeName === "bpchar") return modifier < 0 ? unlimited : modifier - 4;
  return precisions.get(typeName) ?? unlimited;
}

function scaleOf(typeName: string, modifier: number): number {
  if (typeName === "numeric") return modifier < 0 ? 0 : (modifier - 4) & 0x7ff;
  return /^time/.test(typeName) ? 6 : 0;
}
