import sql, { type Sql } from "sql-template-tag";

/**
 * What is to be invalidated, and what shows later exactly which rows this has seen: its snapshot and its time.
 * @param tagsMax distinct tags of a kind; more need not be known
 * @param graceInMilliseconds leaves out what was added so shortly before
 * @param againAfterInMilliseconds after which time tags are invalidated once more
 */
export const stale = (tagsMax: number, graceInMilliseconds: number, againAfterInMilliseconds: number): Sql => sql`
  with
    times as (
      select
        now() - ${graceInMilliseconds}::bigint * interval '1 millisecond' as added_by,
        now() - ${againAfterInMilliseconds}::bigint * interval '1 millisecond' as invalidated_by
    ),
    fresh as (select tag, added_at from stale_tags, times where invalidated_at is null and added_at <= added_by),
    due as (select tag from stale_tags, times where invalidated_at <= invalidated_by)
  select
    cast(pg_current_snapshot() as text),
    cast(added_by as text),
    cast(invalidated_by as text),
    cast(to_json(array(select distinct tag from fresh order by tag limit ${tagsMax}::bigint)) as text),
    cast(to_json(array(select distinct tag from due order by tag limit ${tagsMax}::bigint)) as text),
    (select cast(extract(epoch from now() - min(added_at)) as bigint) from fresh),
    (select cast(1000 * extract(epoch from max(invalidated_at) - invalidated_by) as bigint) from stale_tags),
    (select paths from invalidations where day = cast(now() at time zone 'utc' as date)),
    (select cast(extract(epoch from now() - max(last_at)) as bigint) from invalidations)
  from times
`;

export interface Seen {
  readonly snapshot: string;
  readonly addedBy: string;
  readonly invalidatedBy: string;
}

/**
 * Whether a row was there already. One of a transaction that this server has not begun yet came from another server, when
 * the database was copied.
 */
const isIn = (snapshot: string) => sql`
  (
    pg_visible_in_snapshot(transaction, ${snapshot}::pg_snapshot)
    or transaction >= pg_snapshot_xmax(pg_current_snapshot())
  )
`;

/** After an invalidation of so many paths: marks what was seen as fresh, deletes what was seen as due, and counts. */
export const settle = ({ snapshot, addedBy, invalidatedBy }: Seen, paths: number): Sql => sql`
  with
    marked as (
      update stale_tags
      set invalidated_at = now()
      where
        invalidated_at is null
        and added_at <= ${addedBy}::timestamptz
        and ${isIn(snapshot)}
    ),
    deleted as (
      delete from stale_tags
      where
        invalidated_at <= ${invalidatedBy}::timestamptz
        and ${isIn(snapshot)}
    )
  insert into invalidations (day, paths, last_at)
  values (cast(now() at time zone 'utc' as date), ${paths}::bigint, now())
  on conflict (day) do update set paths = invalidations.paths + excluded.paths, last_at = excluded.last_at
`;
