import type { Client } from "pg";

/**
 * The recorded tables that reference contributors, and whose rows a merge would delete with the merged contributor, since
 * `merge_contributors` of this release does not update them.
 */
export async function unmerged(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(`
    select distinct cast(conrelid as regclass)::text as name
    from
      pg_constraint
      join history_tables() on conrelid = cast(table_name as regclass)
      cross join pg_proc
    where
      contype = 'f'
      and confrelid = cast('contributors' as regclass)
      and proname = 'merge_contributors'
      and prosrc !~ format('\\mupdate %s\\M', conrelid::regclass)
    order by name
  `);
  return rows.map(
    ({ name }) =>
      `The table ${name} references contributors, but lib/changes/merge-contributors.sql does not update it, so a merge ` +
      "would delete its rows",
  );
}
