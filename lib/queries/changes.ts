import sql, { join, type Sql } from "sql-template-tag";
import type { ListQuery } from "../data-api/list.ts";
import { inReleaseSchema } from "../data-api/release.ts";

export interface Filters {
  readonly id?: number | undefined;
  /** By id, or by the name that the user has now or had at that time. */
  readonly user?: string | number | undefined;
  /** A path in `functions/`, or its first folder. */
  readonly endpoint?: string | undefined;
  /** `contributor/5`, or an id alone for records of every kind. */
  readonly record?: string | number | undefined;
  /** ISO 8601. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/**
 * The ledger, newest first, with what each change did to records (lib/changes/effects.sql).
 * @param raw with all that was asked and replaced, too; otherwise only where effects do not say it
 */
export const list = (filters: Filters, raw: boolean): ListQuery<unknown> => ({
  page: ({ after, limit }) => {
    const newest = (found: Sql) => sql`
      (
        select id
        from changes
        where ${found} and ${matching(filters)} and ${after ? sql`id < ${after.id}::bigint` : sql`true`}
        order by id desc
        limit ${limit}::bigint
      )
    `;
    const found = byUser(filters.user).flatMap((user) =>
      byRecord(filters.record).map((record) => newest(sql`${user} and ${record}`)),
    );
    return sql`
      select
        id, at, request_id as "requestId", endpoint, caller_id as "userId", username, record_id as "recordId", records,
        undoes, undone_by as "undoneBy", effects,
        ${raw ? sql`asked, before` : sql`case when endpoint not like 'admin-%' or effects = '[]' then asked end as asked`},
        answer
      from
        (${join(found, " union ")}) as page
        join changes using (id)
        cross join lateral ${inReleaseSchema("effects_of")}(changes) as effects
      order by id desc
      limit ${limit}::bigint
    `;
  },
});

/** What records are called today: an object of names by `contributor/5`. Records that are gone are not in it. */
export const namesOf = (records: readonly string[]): Sql => sql`
  with
    asked as (
      select record, split_part(record, '/', 1) as kind, cast(split_part(record, '/', 2) as bigint) as id
      from json_array_elements_text(${JSON.stringify(records)}::json) as record
    )
  select cast(coalesce(json_object_agg(record, name), '{}') as text) as text
  from
    (
      select record, username as name from asked join users using (id) where kind = 'user'
      union all
      select record, name from asked join roles using (id) where kind = 'role'
      union all
      select record, name from asked join permissions using (id) where kind = 'permission'
      union all
      select record, concat_ws(' ', first_name, last_name)
      from asked join contributors using (id)
      where kind = 'contributor'
      union all
      select record, name from asked join series using (id) where kind = 'series'
    ) as named
`;

/** The users with this name, now or at the time of a change. */
export const usersNamed = (username: string): Sql => sql`
  select id from users where identity_key(username) = identity_key(${username}::text)
  union
  select caller_id from changes where identity_key(username) = identity_key(${username}::text)
`;

/** A row if a user has this id, or one who is deleted had it and changed something. */
export const isUser = (id: number): Sql => sql`
  select 1 where exists (select from users where id = ${id}::bigint)
  or exists (select from changes where caller_id = ${id}::bigint)
`;

export interface Page {
  readonly before: number;
  readonly limit: number;
}

/**
 * The ids of a user's changes in a time that are not undone, newest first, before an id. To sign in or out, or to save
 * what was there already, is none; what is forgotten, since it was about a user who was deleted, may have been one.
 */
export const toUndo = (user: number, { from, to }: { from: string; to: string }, page: Page): Sql =>
  notUndone(
    sql`
      caller_id = ${user}::bigint
      and at >= ${from}::timestamptz
      and at < ${to}::timestamptz
      and endpoint not in ('sign-in/callback', 'sign-out')
      and not (
        endpoint like 'admin-%/edit'
        and asked is null
        and (endpoint <> 'admin-users/edit' or record_id in (select id from users))
      )
    `,
    page,
  );

/**
 * The same of the changes of an import, from one of them. A file that is imported once more is another import. Older
 * changes do not say to which import they belong: such a one is alone.
 */
export const toUndoOfImport = (change: number, page: Page): Sql =>
  notUndone(
    sql`
      caller_id is null
      and endpoint = 'ops/import'
      and (
        id = ${change}::bigint
        or (asked ->> 'source', asked ->> 'begunAt') = (
          select asked ->> 'source', asked ->> 'begunAt' from changes where id = ${change}::bigint
        )
      )
    `,
    page,
  );

const notUndone = (found: Sql, { before, limit }: Page): Sql => sql`
  select id
  from changes
  where ${found} and undone_by is null and id < ${before}::bigint
  order by id desc
  limit ${limit}::bigint
`;

/** A row if a change is one of an import. */
export const isOfImport = (change: number): Sql => sql`
  select 1 from changes where id = ${change}::bigint and endpoint = 'ops/import'
`;

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

/* An index finds some of what is looked for, and another the rest: for both at once there could be none. */

function byUser(user: Filters["user"]): readonly Sql[] {
  if (user === undefined) return [sql`true`];
  if (typeof user === "number") return [sql`caller_id = ${user}::bigint`];
  const hasName = sql`identity_key(username) = identity_key(${user}::text)`;
  return [hasName, sql`caller_id = (select id from users where ${hasName})`];
}

/** The kinds of records, and which endpoints change one of them by its id. Other endpoints name what they changed. */
const endpointsByKind: Readonly<Record<string, Sql>> = {
  user: sql`
    (
      endpoint like 'admin-users/%'
      or endpoint in (
        'ops/create-user', 'ops/end-sessions', 'ops/issue-refresh-token', 'ops/link-identity', 'sign-in/callback',
        'sign-out'
      )
    )
  `,
  role: sql`endpoint like 'admin-roles/%'`,
  permission: sql`endpoint like 'admin-permissions/%'`,
  contributor: sql`endpoint like 'admin-contributors/%'`,
  publisher: sql`false`,
  series: sql`false`,
  tag: sql`false`,
  client: sql`false`,
};

function byRecord(record: Filters["record"]): readonly Sql[] {
  if (record === undefined) return [sql`true`];
  const [kind = "", id] = typeof record === "string" ? record.split("/") : ["", record];
  const records = typeof record === "string" ? [record] : Object.keys(endpointsByKind).map((each) => `${each}/${id}`);
  return [
    sql`record_id = ${Number(id)}::bigint and ${endpointsByKind[kind] ?? sql`true`}`,
    sql`records && array[${join(records.map((each) => sql`${each}::text`))}]`,
  ];
}

const matching = ({ id, endpoint, from, to }: Filters): Sql =>
  join(
    [
      sql`true`,
      ...(id === undefined ? [] : [sql`id = ${id}::bigint`]),
      ...(endpoint === undefined ? [] : [sql`endpoint || '/' like ${endpoint}::text || '/%'`]),
      ...(from === undefined ? [] : [sql`at >= ${from}::timestamptz`]),
      ...(to === undefined ? [] : [sql`at < ${to}::timestamptz`]),
    ],
    " and ",
  );
