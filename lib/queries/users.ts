import sql, { empty, type Sql } from "sql-template-tag";
import type { Answer } from "../contract/declare.ts";
import type { GuardedListQuery } from "../data-api/list.ts";
import type { GuardedQuery } from "../data-api/query.ts";
import {
  ascending,
  descending,
  isSelective,
  nameContains,
  type Pages,
  pagesOfFew,
  type TableOrder,
} from "./fragments/filters.ts";
import { imageUrl } from "./fragments/images.ts";
import { record, records } from "./fragments/json.ts";
import { opened, otherEditor } from "./fragments/locks.ts";

type Id = number | null;

const orders = {
  "name-asc": ascending(sql`username_key`, "text"),
  "name-desc": descending(sql`username_key`, "text"),
  "registered-asc": ascending(sql`registered`, "timestamptz"),
  "registered-desc": descending(sql`registered`, "timestamptz"),
} as const;

interface ListInput {
  readonly order: keyof typeof orders;
  readonly search?: string | undefined;
  /** Null is an id that no role has. */
  readonly role?: Id | undefined;
}

/** An index gives the ids of the page; other columns are read only for these users. */
export function list({ order, search, role }: ListInput): GuardedListQuery<Answer<"UserListItem">> {
  const sorted = orders[order];
  const { page, ...matches } = pagesOf(search, role, sorted);
  return {
    guarded: true,
    ...matches,
    fields: sql`
      id, slug, username, age_verified, coalesce(${imageUrl(sql`image`)}, '') as profile_image,
      ${instant(sql`registered`)} as registered,
      ${rolesOf(sql`users.id`, sql`coalesce(description, '')`)} as roles,
      ${otherEditor("user", sql`users.id`)} as lock
    `,
    key: sql`key`,
    rows: (slice) => sql`
      from (${page(slice)}) as page join users using (id)
      order by ${sorted.ofPage.by}
    `,
  };
}

function pagesOf(search: string | undefined, role: Id | undefined, order: TableOrder): Pages {
  const { key, by, startAfter } = order;
  const like = nameContains(sql`username_key`, search);
  if (isSelective(search))
    return pagesOfFew(sql`select id, ${key} as key from users where true ${like} ${holding(role)}`, order);
  const matching = sql`from ${role === undefined ? sql`users` : holders(role)} where true ${like}`;
  return {
    max: search === undefined ? counted(role) : sql`select count(*) ${matching}`,
    page: ({ after, offset, limit }) => sql`
      select id, ${key} as key
      ${matching} ${startAfter(after)}
      order by ${by}
      limit ${limit}::bigint
      offset ${offset}::bigint
    `,
  };
}

const holding = (role: Id | undefined): Sql =>
  role === undefined ? empty : sql`and id in (select user_id from user_roles where role_id = ${role}::bigint)`;

/** The users of a role, with the columns for sorting and searching. */
const holders = (role: Id): Sql =>
  sql`(select user_id as id, username_key, registered from user_roles where role_id = ${role}::bigint) as holders`;

const counted = (role: Id | undefined): Sql => sql`
  select coalesce(sum(tally), 0)::bigint
  from tallies
  where ${role === undefined ? sql`subject = 'users' and scope = 0` : sql`subject = 'users of role' and scope = ${role}::bigint`}
`;

/** ISO 8601 in UTC, with milliseconds. */
const instant = (time: Sql): Sql => sql`to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const rolesOf = (user: Sql, description: Sql): Sql =>
  records(sql`
  select roles.id, name, ${description} as description
  from user_roles as held join roles on roles.id = held.role_id
  where held.user_id = ${user}
  order by roles.id
`);

/** A user; it takes the edit lock. */
export const find = (id: Id): GuardedQuery<Answer<"User">> => ({
  guarded: true,
  warns: true,
  select: sql`
    select version, warning, cast(${record(sql`
      id, slug, username, ${imageUrl(sql`image`)} as profile_image, ${instant(sql`registered`)} as registered, age_verified,
      exists (
        select from refresh_tokens where user_id = users.id and expires_at > now() and revoked_at is null
      ) as logged_in,
      ${rolesOf(sql`users.id`, sql`description`)} as roles
    `)} as text) as text
    from users, ${opened("user", sql`users.id`)}
    where id = ${id}::bigint and still_exists
  `,
});
