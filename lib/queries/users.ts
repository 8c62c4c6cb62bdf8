import sql, { empty, type Sql } from "sql-template-tag";
import type { Answer } from "../contract/declare.ts";
import type { GuardedListQuery } from "../database/list.ts";
import type { GuardedQuery } from "../database/query.ts";
import { ascending, descending, findsFew, fromFew, named, type Picks, type TableOrder } from "./fragments/filters.ts";
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
  /** Null: an identifier that no role has. */
  readonly role?: Id | undefined;
}

/** The page is picked from an index alone; everything else is looked up for its users only. */
export function list({ order, search, role }: ListInput): GuardedListQuery<Answer<"UserListItem">> {
  const sorted = orders[order];
  const { page, ...picks } = pick(search, role, sorted);
  return {
    guarded: true,
    ...picks,
    fields: sql`
      id, slug, username, age_verified, coalesce(${imageUrl(sql`image`)}, '') as profile_image,
      ${instant(sql`registered`)} as registered,
      ${rolesOf(sql`users.id`, sql`coalesce(description, '')`)} as roles,
      ${otherEditor("user", sql`users.id`)} as lock
    `,
    key: sql`key`,
    rows: (slice) => sql`
      from (${page(slice)}) as page join users using (id)
      order by ${sorted.picked.by}
    `,
  };
}

function pick(search: string | undefined, role: Id | undefined, order: TableOrder): Picks {
  const { key, by, behind } = order;
  const like = named(sql`username_key`, search);
  if (findsFew(search))
    return fromFew(sql`select id, ${key} as key from users where true ${like} ${holding(role)}`, order);
  const matching = sql`from ${role === undefined ? sql`users` : holders(role)} where true ${like}`;
  return {
    max: search === undefined ? tallied(role) : sql`select count(*) ${matching}`,
    page: ({ after, offset, limit }) => sql`
      select id, ${key} as key
      ${matching} ${behind(after)}
      order by ${by}
      limit ${limit}::bigint
      offset ${offset}::bigint
    `,
  };
}

const holding = (role: Id | undefined): Sql =>
  role === undefined ? empty : sql`and id in (select user_id from user_roles where role_id = ${role}::bigint)`;

/** The users of a role, as far as they are sorted and searched by. */
const holders = (role: Id): Sql =>
  sql`(select user_id as id, username_key, registered from user_roles where role_id = ${role}::bigint) as holders`;

const tallied = (role: Id | undefined): Sql => sql`
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

/** Opening a user takes the edit lock. */
export const find = (id: Id): GuardedQuery<Answer<"User">> => ({
  guarded: true,
  select: sql`
    select version, cast(${record(sql`
      id, slug, username, ${imageUrl(sql`image`)} as profile_image, ${instant(sql`registered`)} as registered, age_verified,
      exists (
        select from refresh_tokens where user_id = users.id and expires_at > now() and revoked_at is null
      ) as logged_in,
      ${rolesOf(sql`users.id`, sql`description`)} as roles
    `)} as text) as text
    from users
    where id = ${id}::bigint and ${opened("user", id)}
  `,
});
