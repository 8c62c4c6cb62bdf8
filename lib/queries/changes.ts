import sql, { join, type Sql } from "sql-template-tag";
import type { ListQuery } from "../data-api/list.ts";

export interface Filters {
  /** By id, or by the name that the user has now or had at that time. */
  readonly user?: string | number | undefined;
  /** A path in `functions/`, or its first folder. */
  readonly endpoint?: string | undefined;
  readonly record?: number | undefined;
  /** ISO 8601. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/** The ledger, newest first. */
export const list = (filters: Filters): ListQuery<unknown> => ({
  page: ({ after, limit }) => {
    const newest = (user: Sql) => sql`
      (
        select id
        from changes
        where ${user} and ${matching(filters)} and ${after ? sql`id < ${after.id}::bigint` : sql`true`}
        order by id desc
        limit ${limit}::bigint
      )
    `;
    return sql`
      select
        id, at, request_id as "requestId", endpoint, caller_id as "userId", username, record_id as record, asked, before
      from (${join(byUser(filters.user).map(newest), " union ")}) as page join changes using (id)
      order by id desc
      limit ${limit}::bigint
    `;
  },
});

/**
 * About how many bytes the changes of the last day take in the database, as they are stored. Its own columns and the
 * entries in indexes make up half a kilobyte of a row.
 */
export const bytesOfLastDay = (): Sql => sql`
  select
    500 * count(*)
    + coalesce(sum(coalesce(pg_column_size(asked), 0) + coalesce(pg_column_size(before), 0)), 0)::bigint
  from changes
  where at > now() - interval '1 day'
`;

/** An index finds the changes of a user's id, and another those of a name: for both at once there could be none. */
function byUser(user: Filters["user"]): readonly Sql[] {
  if (user === undefined) return [sql`true`];
  if (typeof user === "number") return [sql`caller_id = ${user}::bigint`];
  const hasName = sql`identity_key(username) = identity_key(${user}::text)`;
  return [hasName, sql`caller_id = (select id from users where ${hasName})`];
}

const matching = ({ endpoint, record, since, until }: Filters): Sql =>
  join(
    [
      sql`true`,
      ...(endpoint === undefined ? [] : [sql`endpoint || '/' like ${endpoint}::text || '/%'`]),
      ...(record === undefined ? [] : [sql`record_id = ${record}::bigint`]),
      ...(since === undefined ? [] : [sql`at >= ${since}::timestamptz`]),
      ...(until === undefined ? [] : [sql`at < ${until}::timestamptz`]),
    ],
    " and ",
  );
