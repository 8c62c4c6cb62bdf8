import sql, { type Sql } from "sql-template-tag";

/** Begins a dry run, which takes no locks of names (is_rolled_back, lib/migrations/tables/01-names.sql). */
export const withoutLocks: Sql = sql`select set_config('colophon.is_rolled_back', 'on', true)`;

/**
 * How far an import has come: the byte at which the next line begins, and what came of the lines before, as JSON: the
 * counts of import-records.sql, and the report.
 */
export const find = (source: string): Sql => sql`
  select
    coalesce(position, 0),
    coalesce(counts, '{}'),
    json_build_object(
      'lines', coalesce(lines, 0),
      'added', coalesce(added, 0),
      'changed', coalesce(changed, 0),
      'unchanged', coalesce(unchanged, 0),
      'refusedCount', coalesce(refused, 0),
      'refused', coalesce(refusals, '[]'),
      'isDone', coalesce(is_done, false)
    )
  from (select ${source}::text as source) as requested left join imports using (source)
`;
