import sql, { empty, type Sql } from "sql-template-tag";
import type { getUser, listUsers } from "../contract/admin-users.ts";
import type { Filters, QueryOf } from "../contract/declare.ts";
import type { ListQuery } from "../data-api/list.ts";
import { changed, imageUrl, included, instant, record, records } from "./fragments/json.ts";
import { ascending, countOf, descending, isAmong, pageOfFound, recordOrders } from "./fragments/lists.ts";
import { opened, otherEditor } from "./fragments/locks.ts";
import { keysOf, type SearchPlan, searchPlan } from "./fragments/search.ts";

const orders = {
  ...recordOrders,
  "name-asc": ascending(sql`username_key`, sql`text`),
  "name-desc": descending(sql`username_key`, sql`text`),
  "registered-asc": ascending(sql`registered`, sql`timestamptz`),
  "registered-desc": descending(sql`registered`, sql`timestamptz`),
} as const;

/**
 * An index gives the ids of the page; other columns are read only for these users. A null role is an id that no role has.
 */
export function list({ order, search, role, include, ids }: Filters<typeof listUsers>): ListQuery {
  const { by } = orders[order];
  const plan = searchPlan(search, keysOf(sql`users`));
  const count = role === undefined ? countOf("users", sql`0`) : countOf("users of role", sql`${role}::bigint`);
  return {
    found: matching(plan, role, order, ids),
    sortInMemory: plan.lookup === "index" || ids !== undefined || (role !== undefined && order in recordOrders),
    countsFirst: plan.lookup === "scan",
    max: plan.lookup === "none" && ids === undefined ? count : sql`select count(*) from found`,
    page: (batch) => sql`
      select
        id, slug, username, age_verified, coalesce(${imageUrl(sql`image`)}, '') as profile_image,
        ${instant(sql`registered`)} as registered,
        ${rolesWith(sql`coalesce(description, '')`)} as roles,
        ${otherEditor("user")} as lock ${included({ version: sql`version`, changed }, include)}
      from ${pageOfFound(orders[order], batch)} as page join users using (id)
      order by ${by}
    `,
  };
}

/**
 * The table of users' roles has their names and registrations, too. So the users of a rare role are found without the
 * others.
 */
function matching(
  { lookup, condition }: SearchPlan,
  role: number | null | undefined,
  order: keyof typeof orders,
  ids: string | undefined,
): Sql {
  const { column: key } = orders[order];
  if (role === undefined) return sql`select id, ${key} as key from users where ${condition} ${isOneOf(ids, sql`id`)}`;
  const members = sql`from user_roles where role_id = ${role}::bigint ${isOneOf(ids, sql`user_id`)}`;
  const ofRole = sql`select user_id as id, ${key} as key ${members}`;
  const isInUsers = lookup === "index" || order in recordOrders;
  if (lookup === "none" && !isInUsers) return ofRole;
  return isInUsers
    ? sql`select id, ${key} as key from users where ${condition} and id in (select user_id ${members})`
    : sql`${ofRole} and (select ${condition} from users where id = user_id)`;
}

const isOneOf = (ids: string | undefined, id: Sql): Sql => (ids === undefined ? empty : sql`and ${isAmong(ids, id)}`);

const rolesWith = (description: Sql): Sql =>
  records(sql`
    select roles.id, name, ${description} as description
    from user_roles as assigned join roles on roles.id = assigned.role_id
    where assigned.user_id = users.id
    order by roles.id
  `);

/** A user; it takes the edit lock, unless the request says `lock=none`. */
export const find = (id: number | null, { lock }: QueryOf<typeof getUser> = {}): Sql => sql`
  select version, warning, ${record(sql`
    id, slug, username, ${imageUrl(sql`image`)} as profile_image, ${instant(sql`registered`)} as registered, age_verified,
    exists (
      select from refresh_tokens where user_id = users.id and expires_at > now() and revoked_at is null
    ) as logged_in,
    ${rolesWith(sql`description`)} as roles
  `)} as body
  from users, ${opened("user", lock)}
  where id = ${id}::bigint and still_exists
`;
