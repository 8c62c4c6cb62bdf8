import type { Client } from "pg";

/** Tables that reference a recorded one, and are not recorded themselves, each for a reason (lib/changes/README.md). */
const exceptions: Readonly<Record<string, string>> = {
  awaited_emails: "An address is personal, and is forgotten when it is not awaited any more",
  contributor_changes: "Triggers keep the times",
  contributor_locks: "Who edits a record is no change of the record",
  user_locks: "Who edits a record is no change of the record",
};

/**
 * The tables that an undo would not bring back, although they may go with a row that it brings back, and the columns
 * whose values JSON does not hold exactly: it has one null and no bounds of arrays.
 */
export async function unrecorded(client: Client): Promise<string[]> {
  const { rows: tables } = await client.query<{ name: string; parent: string }>(`
    select distinct cast(conrelid as regclass)::text as name, cast(confrelid as regclass)::text as parent
    from pg_constraint
    where
      contype = 'f'
      and confrelid in (select cast(table_name as regclass) from history_tables())
      and conrelid not in (select cast(table_name as regclass) from history_tables())
    order by name, parent
  `);
  const { rows: columns } = await client.query<{ name: string; type: string }>(`
    select table_name || '.' || attname as name, format_type(atttypid, atttypmod) as type
    from
      history_tables()
      join pg_attribute on attrelid = cast(table_name as regclass)
      join pg_type on pg_type.oid = atttypid
    where
      attnum > 0 and not attisdropped and attname <> all(derived)
      and (typcategory in ('A', 'C') or typname in ('json', 'jsonb'))
    order by name
  `);
  const found = new Set(tables.map(({ name }) => name));
  return [
    ...tables
      .filter(({ name }) => !Object.hasOwn(exceptions, name))
      .map(
        ({ name, parent }) =>
          `The table ${name} references ${parent}, but is not in history_tables() (lib/migrations/history.sql), so an ` +
          "undo would lose its rows. If it must not be recorded, infra/check/unrecorded.ts has the reason",
      ),
    ...Object.keys(exceptions)
      .filter((name) => !found.has(name))
      .map((name) => `infra/check/unrecorded.ts has ${name}, which references no recorded table`),
    ...columns.map(({ name, type }) => `The history cannot hold values of ${name} exactly, since it is ${type}`),
  ];
}
