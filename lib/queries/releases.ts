import sql, { raw, type Sql } from "sql-template-tag";

/** Releases whose functions nothing calls any more: neither among the last ten nor younger than 90 days. */
export const old = (): Sql => sql`
  select schema
  from releases
  where
    installed_at < now() - interval '90 days'
    and schema not in (select schema from releases order by installed_at desc limit 10)
`;

/** Drops a release's functions; the row is forgotten afterwards, so that a drop that failed is tried again. */
export function drop(schema: string): Sql {
  if (!/^changes_[0-9a-f]+$/.test(schema)) throw new TypeError(`${schema} is no schema of a release`);
  return sql`drop schema if exists ${raw(schema)} cascade`;
}

export const forget = (schema: string): Sql => sql`
  delete from releases
  where schema = ${schema}::text
`;
