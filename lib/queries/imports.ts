import sql, { type Sql } from "sql-template-tag";

/** Begins a dry run, which takes no locks of names (is_rolled_back, lib/migrations/tables/01-names.sql). */
export const withoutLocks: Sql = sql`select set_config('colophon.is_rolled_back', 'on', true)`;

/** How far an import has come, as JSON; no row if it has not begun. */
export const find = (source: string): Sql => sql`
  select row_to_json(import)
  from (
    select position, lines, added, changed, unchanged, refused, refusals, is_done
    from imports
    where source = ${source}::text
  ) as import
`;
