import { identifier, type Sql } from "./database.ts";

/** The tables of the catalogue, and what a change of it leaves elsewhere. */
const tables = `
  clients contributors contributor_aliases contributor_descriptions contributor_links contributor_relations
  publishers publisher_aliases publisher_descriptions publisher_relations images_to_remove counters tags volumes
  series series_aliases series_contributors series_descriptions series_publishers series_tags
`
  .trim()
  .split(/\s+/);

/** All rows of the catalogue, as text, without the columns that are left out. */
export async function catalogueContents(sql: Sql, ...without: readonly string[]): Promise<Record<string, string[]>> {
  const entries = tables.map(async (table) => {
    const rows = await sql<{ row: string }[]>`
      select (to_jsonb(${identifier(table)}) - ${[...without]}::text[])::text as row
      from ${identifier(table)}
      where ${table} <> 'counters' or to_jsonb(${identifier(table)}) ->> 'total' <> '0'
      order by 1
    `;
    return [table, rows.map(({ row }) => row)] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}
