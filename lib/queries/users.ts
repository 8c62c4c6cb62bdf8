import sql, { empty, type Sql } from "sql-template-tag";
import type { Answer } from "../contract/declare.ts";
import { shownDescriptionsLengthMax } from "../contract/parameters.ts";
import type { GuardedListQuery } from "../database/list.ts";
import type { GuardedQuery } from "../database/query.ts";
import { exceedsCaller, idsIn, permissionsOfRoles, permissionsOfUser } from "./authority.ts";
import { ascending, descending, named } from "./filters.ts";
import { imageUrl } from "./images.ts";
import { lockTaken, otherEditor } from "./locks.ts";
import { allowed } from "./verdict.ts";

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
  const { key, by, behind } = orders[order];
  const matching = sql`${named(sql`username_key`, search)} ${holding(role)}`;
  return {
    guarded: true,
    max: search === undefined ? tallied(role) : sql`select count(*) from users where true ${matching}`,
    page: ({ after, offset, limit }) => sql`
      select
        id,
        ${key},
        json_build_object(
          'id', id,
          'slug', slug,
          'username', username,
          'age_verified', age_verified,
          'profile_image', coalesce(${imageUrl(sql`image`)}, ''),
          'registered', ${instant(sql`registered`)},
          'roles', ${rolesOf(sql`users.id`, sql`coalesce(description, '')`)},
          'lock', ${otherEditor("user", sql`users.id`)}
        )
      from
        (
          select id
          from users
          where true ${matching} ${behind(after)}
          order by ${by}
          limit ${limit}::bigint
          offset ${offset}::bigint
        ) as page
        join users using (id)
      order by ${by}
    `,
  };
}

const holding = (role: Id | undefined): Sql =>
  role === undefined ? empty : sql`and id in (select user_id from user_roles where role_id = ${role}::bigint)`;

const tallied = (role: Id | undefined): Sql => sql`
  select coalesce(sum(tally), 0)::bigint
  from tallies
  where ${role === undefined ? sql`subject = 'users' and scope = 0` : sql`subject = 'users of role' and scope = ${role}::bigint`}
`;

/** ISO 8601 in UTC, with milliseconds. */
const instant = (time: Sql): Sql => sql`to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const rolesOf = (user: Sql, description: Sql): Sql => sql`
  (
    select
      coalesce(
        json_agg(json_build_object('id', roles.id, 'name', name, 'description', ${description}) order by roles.id),
        '[]'
      )
    from user_roles as held join roles on roles.id = held.role_id
    where held.user_id = ${user}
  )
`;

/** Opening a user takes the edit lock. */
export const find = (id: Id): GuardedQuery<Answer<"User">> => ({
  with: sql`${lockTaken("user", id)},`,
  select: sql`
    select
      200,
      json_build_object(
        'id', id,
        'slug', slug,
        'username', username,
        'profile_image', ${imageUrl(sql`image`)},
        'registered', ${instant(sql`registered`)},
        'age_verified', age_verified,
        'logged_in', exists (
          select
          from refresh_tokens
          where user_id = users.id and expires_at > now() and revoked_at is null
        ),
        'roles', ${rolesOf(sql`users.id`, sql`description`)}
      )
    from users
    where id = ${id}::bigint
  `,
});

interface Edit {
  readonly username: string;
  readonly age_verified: boolean;
  readonly added_roles: readonly number[];
  readonly removed_roles: readonly number[];
}

/** A role that is both added and removed ends up removed. */
export const edit = (id: Id, { username, age_verified, added_roles, removed_roles }: Edit): GuardedQuery<null> => ({
  with: sql`
    added as (${idsIn(added_roles)}),
    removed as (${idsIn(removed_roles)}),
    verdict as (
      select
        case
          when not exists (select from users where id = ${id}::bigint) then 404
          when exists (select from added where value not in (select id from roles)) then 400
          when exists (select from added) and (${describedAtLength(id)}) then 400
          when ${exceedsCaller(sql`
            ${permissionsOfUser(sql`${id}::bigint`)}
            union
            ${permissionsOfRoles(sql`select value from added union select value from removed`)}
          `)} then 403
          when exists (
            select
            from users
            where identity_key(username) = identity_key(${username}::text) and id <> ${id}::bigint
          ) then 409
          else 200
        end as status
      from caller
    ),
    updated as (
      update users
      set
        username = ${username}::text,
        age_verified = ${age_verified}::boolean
      where id = ${id}::bigint and ${allowed}
      returning id
    ),
    granted as (
      insert into user_roles (user_id, role_id)
      select updated.id, added.value
      from updated, added
      where added.value not in (select value from removed) and ${allowed}
      on conflict do nothing
    ),
    withdrawn as (
      delete from user_roles
      where user_id = ${id}::bigint and role_id in (select value from removed) and ${allowed}
    ),
    released as (
      delete from user_locks
      where user_id = ${id}::bigint and holder_id in (select id from caller) and ${allowed}
    ),
  `,
  select: sql`
    select status, case status when 400 then to_json('added_roles'::text) end
    from verdict
    where status <> 200
    union all
    select 200, null from updated
  `,
});

/** Whether the roles that the user will have are described in more characters than are shown with a user. */
const describedAtLength = (id: Id): Sql => sql`
  select sum(length(description)) > ${shownDescriptionsLengthMax}::int
  from roles
  where
    id in (select value from added union select role_id from user_roles where user_id = ${id}::bigint)
    and id not in (select value from removed)
`;

/** Whether the caller may act on the user at all: one who holds more than the caller is out of reach. */
const reach = (id: Id): Sql => sql`
  verdict as (
    select
      case
        when not exists (select from users where id = ${id}::bigint) then 404
        when ${exceedsCaller(permissionsOfUser(sql`${id}::bigint`))} then 403
        else 200
      end as status
    from caller
  )
`;

/**
 * Roles and locks go with the user. Sessions stay, so that requests with them learn that their user is gone; they
 * open nothing, since no other user ever gets the id.
 */
export const remove = (id: Id): GuardedQuery<null> => ({
  with: sql`
    ${reach(id)},
    removed as (
      delete from users
      where id = ${id}::bigint and ${allowed}
      returning image
    ),
    discarded as (
      insert into images_to_remove (key)
      select image
      from removed
      where image is not null
      on conflict do nothing
    ),
  `,
  select: sql`
    select status, null from verdict where status <> 200
    union all
    select 200, null from removed
  `,
});

/** Ends all sessions of the user, and lets go what they were editing. */
export const logOut = (id: Id): GuardedQuery<null> => ({
  with: sql`
    ${reach(id)},
    revoked as (
      update refresh_tokens
      set revoked_at = now()
      where user_id = ${id}::bigint and expires_at > now() and revoked_at is null and ${allowed}
    ),
    released_users as (
      delete from user_locks
      where holder_id = ${id}::bigint and ${allowed}
    ),
    released_contributors as (
      delete from contributor_locks
      where holder_id = ${id}::bigint and ${allowed}
    ),
  `,
  select: sql`select status, null from verdict`,
});
