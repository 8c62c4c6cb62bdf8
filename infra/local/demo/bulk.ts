import type { ClientBase } from "pg";

/**
 * Fills a table. With more rows than the table has, its indexes and constraints are dropped before and created again
 * after, which is less work. If a unique index then cannot be created, the table is filled again with all indexes in
 * place, so `fill` should leave out rows that exist (`on conflict do nothing`). If the transaction fails, the table is
 * as it was.
 */
export async function inBulk(
  client: ClientBase,
  table: string,
  rows: number,
  fill: () => Promise<unknown>,
): Promise<void> {
  const { rows: counted } = await client.query(`select count(*)::int as present from ${table}`);
  if (rows < counted[0].present) return void (await fill());
  const { rows: definitions } = await client.query<{ remove: string; restore: string }>(definitionsOf, [table]);
  await client.query("set local maintenance_work_mem = '512MB'");
  await client.query("savepoint with_indexes");
  try {
    for (const { remove } of definitions) await client.query(remove);
    await fill();
    for (const { restore } of definitions) await client.query(restore);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === uniqueViolation)) throw error;
    await client.query("rollback to savepoint with_indexes");
    await fill();
  }
}

const uniqueViolation = "23505";

/**
 * The statements that drop and create the table's indexes and constraints. A primary key that other tables refer to
 * stays. So do references to clients: tables that have them are filled at the same time, and would wait for each other.
 */
const definitionsOf = `
  with droppable as (
    select *
    from pg_constraint as own
    where
      conrelid = $1::regclass
      and (
        contype = 'u'
        or contype = 'f' and confrelid <> 'clients'::regclass
        or contype = 'p' and not exists (select from pg_constraint where contype = 'f' and confrelid = own.conrelid)
      )
  )
  select
    format('alter table %s drop constraint %I', cast(conrelid as regclass), conname) as remove,
    format('alter table %s add constraint %I %s', cast(conrelid as regclass), conname, pg_get_constraintdef(oid))
      as restore
  from droppable
  union all
  select format('drop index %s', cast(indexrelid as regclass)), pg_get_indexdef(indexrelid)
  from pg_index
  where
    indrelid = $1::regclass
    and indexrelid not in (select conindid from pg_constraint where conrelid = indrelid and contype in ('p', 'u'))
`;
