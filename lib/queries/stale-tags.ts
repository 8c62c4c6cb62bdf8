import sql, { type Sql } from "sql-template-tag";

/**
 * Makes this run the one that invalidates, unless another one is, and reads what is to be invalidated, with the snapshot
 * in which that is visible. Without any tag the run gives the lease back.
 * @param tagsMax distinct tags; more need not be known
 * @param leaseInMilliseconds the lease from now on, which a run that breaks off keeps
 */
export const look = (run: string, tagsMax: number, leaseInMilliseconds: number): Sql => sql`
  with
    lease as (
      insert into invalidation_lease (run, until)
      values (
        ${run},
        case
          when exists (select from stale_tags) then now() + ${leaseInMilliseconds}::bigint * interval '1 millisecond'
          else '-infinity'
        end
      )
      on conflict (single) do update set run = excluded.run, until = excluded.until
      where invalidation_lease.run = excluded.run or invalidation_lease.until <= now()
      returning 1
    )
  select
    cast(exists (select from lease) as int),
    cast(pg_current_snapshot() as text),
    cast(to_json(array(select distinct tag from stale_tags order by tag limit ${tagsMax}::bigint)) as text),
    (select cast(extract(epoch from now() - min(added_at)) as bigint) from stale_tags),
    (select paths from invalidations where day = cast(now() at time zone 'utc' as date)),
    (select cast(extract(epoch from now() - max(last_at)) as bigint) from invalidations)
`;

/**
 * After an invalidation of so many paths: deletes the tags that were visible in the snapshot, and counts. A row of a
 * transaction that this server has not begun yet came from another server, when the database was copied.
 * @param snapshot the text of PostgreSQL's `pg_snapshot`
 */
export const settle = (snapshot: string, paths: number): Sql => sql`
  with
    deleted as (
      delete from stale_tags
      where
        pg_visible_in_snapshot(transaction, ${snapshot}::pg_snapshot)
        or transaction >= pg_snapshot_xmax(pg_current_snapshot())
    )
  insert into invalidations (day, paths, last_at)
  values (cast(now() at time zone 'utc' as date), ${paths}::bigint, now())
  on conflict (day) do update set paths = invalidations.paths + excluded.paths, last_at = excluded.last_at
`;

/** Lets another run begin. */
export const release = (run: string): Sql => sql`
  update invalidation_lease set until = '-infinity' where run = ${run}
`;
