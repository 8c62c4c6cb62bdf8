import type { TransactionSql } from "postgres";

/**
 * Fills a table while its indexes and constraints are put aside, if so many rows come that making them anew is less
 * work. Where that finds a row that is already there, the table is filled once more with all of
 * them in place, so what fills it should leave out such rows. All of it belongs to the transaction: whatever ends that
 * early leaves the table as it was.
 */
export async function inBulk(
  sql: TransactionSql,
  table: string,
  rows: number,
  fill: (sql: TransactionSql) => Promise<unknown>,
): Promise<void> {
  const [{ present = 0 } = {}] = await sql<{ present: number }[]>`select count(*)::int as present from ${sql(table)}`;
  if (rows < present) return void (await fill(sql));
  const aside = await putAside(sql, table);
  await sql`set local maintenance_work_mem = '512MB'`;
  try {
    await sql.savepoint(async (step) => {
      for (const { remove } of aside) await step.unsafe(remove);
      await fill(step);
      for (const { restore } of aside) await step.unsafe(restore);
    });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === uniqueViolation)) throw error;
    await fill(sql);
  }
}

const uniqueViolation = "23505";

/**
 * A primary key that others refer to stays, and so does what refers to clients: several tables that do are filled at the
 * same time, and each would wait for the others.
 */
const putAside = (sql: TransactionSql, table: string) => sql<{ remove: string; restore: string }[]>`
  with dispensable as (
    select *
    from pg_constraint as own
    where
      conrelid = ${table}::regclass
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
  from dispensable
  union all
  select format('drop index %s', cast(indexrelid as regclass)), pg_get_indexdef(indexrelid)
  from pg_index
  where
    indrelid = ${table}::regclass
    and indexrelid not in (select conindid from pg_constraint where conrelid = indrelid and contype in ('p', 'u'))
`;
