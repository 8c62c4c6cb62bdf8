import sql, { empty, join, type Sql } from "sql-template-tag";
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
 * The ledger, newest first, with what each change did to rows (lib/changes/described-change.sql).
 * @param isSelected with the first rows of a change of many records, too
 */
export const list = (filters: Filters, isSelected: boolean): ListQuery => ({
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
    const found = byUser(filters.user).map(newest);
    return sql`
      select
        id, at, role, endpoint, request_id as "requestId", caller_id as "userId", username, operator, reason, record,
        undoes, undone_by as "undoneBy", described
      from
        (${join(found, " union ")}) as page
        join changes using (id)
        cross join lateral ${inReleaseSchema("described_change")}(id, ${isSelected}::boolean) as described
      order by id desc
      limit ${limit}::bigint
    `;
  },
});

/** The kinds of records that the history has. */
export const kinds = (): Sql => sql`select distinct kind from history_tables() order by kind`;

/** What records are called: an object of names by `contributor/5`. Records without a known name are not in it. */
export const namesOf = (records: readonly string[]): Sql => sql`
  select cast(coalesce(json_object_agg(record, label) filter (where label <> ''), '{}') as text) as text
  from
    json_array_elements_text(${JSON.stringify(records)}::json) as record
    cross join lateral split_part(record, '/', 1) as kind
    cross join lateral ${inReleaseSchema("record_label")}(kind, cast(split_part(record, '/', 2) as bigint)) as label
`;

/** Whether a user made a change. The condition of the index changes_by_caller stands here (07-ledger.sql). */
const byCaller = (id: Sql): Sql => sql`caller_id = ${id} and caller_id > 0`;

/** The users with this id or name, now or at the time of a change. */
export const usersCalled = (user: string | number): Sql =>
  typeof user === "number"
    ? sql`
        select id from users where id = ${user}::bigint
        union
        (select caller_id from changes where ${byCaller(sql`${user}::bigint`)} limit 1)
      `
    : sql`
        select id from users where identity_key(username) = identity_key(${user}::text)
        union
        select caller_id from changes where username is not null and identity_key(username) = identity_key(${user}::text)
      `;

/** Changes of the ledger: those of a user in a time, or those of an import, from one of them. */
export type Range = { readonly user: number; readonly from: string; readonly to: string } | { readonly import: number };

/**
 * The ids of changes that are not undone, newest first, before an id. Of a user's only those that left rows in the
 * history, and those that are for good, which are refused. A file that is imported once more is another import.
 */
export const toUndo = (range: Range, { before, limit }: { before: number; limit: number }): Sql => sql`
  select id
  from changes
  where
    ${
      "import" in range
        ? sql`import_id = (select import_id from changes where id = ${range.import}::bigint)`
        : sql`
            ${byCaller(sql`${range.user}::bigint`)}
            and at >= ${range.from}::timestamptz
            and at < ${range.to}::timestamptz
            and (
              exists (select from history where change_id = changes.id)
              or endpoint in ('admin-users/delete', 'admin-users/logout')
            )
          `
    }
    and undone_by is null
    and id < ${before}::bigint
  order by id desc
  limit ${limit}::bigint
`;

/**
 * About how many bytes the changes of the last day take in the database, as they are stored. The columns and index
 * entries of a row that are not counted make up half a kilobyte.
 */
export const bytesOfLastDay = (): Sql => sql`
  with latest as (select id from changes where at > now() - interval '1 day')
  select
    500 * (select count(*) from latest)
    + coalesce(sum(500 + pg_column_size(owners) + pg_column_size(keys)
      + coalesce(pg_column_size(before), 0) + coalesce(pg_column_size(after), 0)), 0)::bigint
  from history
  where change_id in (select id from latest)
`;

/* An index finds some of what is looked for, and another the rest: for both at once there could be none. */

function byUser(user: Filters["user"]): readonly Sql[] {
  if (user === undefined) return [sql`true`];
  if (typeof user === "number") return [byCaller(sql`${user}::bigint`)];
  const hasName = sql`identity_key(username) = identity_key(${user}::text)`;
  return [sql`username is not null and ${hasName}`, byCaller(sql`(select id from users where ${hasName})`)];
}

/** The array makes PostgreSQL look these changes up, instead of reading the ledger from its end until it has a page. */
function ofRecord(record: string | number): Sql {
  const [kind, id] = typeof record === "string" ? record.split("/") : [undefined, record];
  const tables = sql`select * from history_tables() ${kind === undefined ? empty : sql`where kind = ${kind}::text`}`;
  return sql`
    id = any (array(
      select change_id
      from history
      where owners @> array[${Number(id)}::bigint] and table_name in (select table_name from (${tables}) as tables)
      union
      select id
      from changes
      where record = any (array(select kind || '/' || ${String(id)}::text from (${tables}) as tables))
    ))
  `;
}

const matching = ({ id, record, endpoint, from, to }: Filters): Sql =>
  join(
    [
      sql`true`,
      ...(id === undefined ? [] : [sql`id = ${id}::bigint`]),
      ...(record === undefined ? [] : [ofRecord(record)]),
      ...(endpoint === undefined ? [] : [sql`endpoint || '/' like ${endpoint}::text || '/%'`]),
      ...(from === undefined ? [] : [sql`at >= ${from}::timestamptz`]),
      ...(to === undefined ? [] : [sql`at < ${to}::timestamptz`]),
    ],
    " and ",
  );
