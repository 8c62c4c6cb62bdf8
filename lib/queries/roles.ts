import sql, { empty, type Sql } from "sql-template-tag";
import type { Answer } from "../contract/declare.ts";
import { shownDescriptionsLengthMax } from "../contract/parameters.ts";
import type { GuardedListQuery } from "../database/list.ts";
import type { GuardedQuery } from "../database/query.ts";
import { exceedsCaller, idsIn } from "./authority.ts";
import { allowed } from "./verdict.ts";

type Id = number | null;

export const list = (): GuardedListQuery<Answer<"RoleListItem">> => ({
  guarded: true,
  max: sql`select count(*) from roles`,
  page: ({ after, limit }) => sql`
    select
      id,
      id,
      json_build_object(
        'id', id,
        'name', name,
        'description', description,
        'permission_count', coalesce(granted.permissions, 0),
        'user_count', coalesce(tally, 0)
      )
    from
      roles
      left join (
        select role_id, count(*) as permissions
        from role_permissions
        group by role_id
      ) as granted on granted.role_id = roles.id
      left join tallies on subject = 'users of role' and scope = roles.id
    where id > ${after?.id ?? 0}::bigint
    order by id
    limit ${limit}::bigint
  `,
});

export const find = (id: Id): GuardedQuery<Answer<"Role">> => ({
  with: empty,
  select: sql`
    select
      200,
      json_build_object(
        'id', id,
        'name', name,
        'description', coalesce(description, ''),
        'is_default', is_default,
        'permissions', (
          select
            coalesce(
              json_agg(
                json_build_object('id', permissions.id, 'name', permissions.name, 'description', permissions.description)
                order by permissions.id
              ),
              '[]'
            )
          from role_permissions join permissions on permissions.id = role_permissions.permission_id
          where role_permissions.role_id = roles.id
        )
      )
    from roles
    where id = ${id}::bigint
  `,
});

interface Edit {
  readonly name: string;
  /** Left out: it stays. */
  readonly description?: string | null | undefined;
  readonly added_permissions: readonly number[];
  readonly removed_permissions: readonly number[];
}

/** A permission that is both added and removed ends up removed. */
export const edit = (
  id: Id,
  { name, description, added_permissions, removed_permissions }: Edit,
): GuardedQuery<null> => ({
  with: sql`
    added as (${idsIn(added_permissions)}),
    removed as (${idsIn(removed_permissions)}),
    target as (select id, name, description from roles where id = ${id}::bigint),
    blamed as (${blame(id, description ?? "")}),
    verdict as (
      select
        case
          when not exists (select from target) then 404
          when exists (select from blamed) then 400
          when ${exceedsCaller(sql`select value from added union select value from removed`)} then 403
          when exists (
            select
            from roles
            where identity_key(name) = identity_key(${name}::text) and id not in (select id from target)
          ) then 409
          else 200
        end as status
      from caller
    ),
    updated as (
      update roles
      set
        name = ${name}::text,
        description = ${description === undefined ? sql`description` : sql`${description}::text`}
      where id in (select id from target) and ${allowed}
      returning id
    ),
    granted as (
      insert into role_permissions (role_id, permission_id)
      select target.id, added.value
      from target, added
      where
        added.value not in (select value from removed)
        and ${allowed}
      on conflict do nothing
    ),
    withdrawn as (
      delete from role_permissions
      where
        role_id in (select id from target)
        and permission_id in (select value from removed)
        and ${allowed}
    ),
  `,
  select: sql`
    select status, case status when 400 then (select to_json(parameter) from blamed limit 1) end
    from verdict
    where status <> 200
    union all
    select 200, null from updated
  `,
});

/**
 * The parameters that cannot be accepted, a row each: permissions that are not there, or described in more characters
 * than are shown with a role; and a longer description, by which a user's roles would be.
 */
const blame = (id: Id, description: string): Sql => sql`
  select 'added_permissions' as parameter
  where
    exists (select from added where value not in (select id from permissions))
    or exists (select from added) and (
      select sum(length(description)) > ${shownDescriptionsLengthMax}::int
      from permissions
      where
        id in (
          select value
          from added
          union
          select permission_id
          from role_permissions
          where role_id = ${id}::bigint
        )
        and id not in (select value from removed)
    )
  union all
  select 'description'
  where
    case
      when (select sum(length(description)) from roles) + ${description.length}::int > ${shownDescriptionsLengthMax}::int
      then exists (
        select
        from
          user_roles as held
          join user_roles as shown using (user_id)
          join roles on roles.id = shown.role_id
        where
          held.role_id = ${id}::bigint
          and ${description.length}::int > (select coalesce(length(description), 0) from target)
        group by user_id
        having
          sum(case roles.id when ${id}::bigint then ${description.length}::int else length(roles.description) end)
          > ${shownDescriptionsLengthMax}::int
      )
    end
`;

/** A taken name is for the unique index to find. */
export const add = (name: string, description: string): GuardedQuery<null> => ({
  with: sql`
    added as (
      insert into roles (name, description)
      select ${name}::text, ${description}::text
      from caller
      returning id
    ),
  `,
  select: sql`select 200, null from added`,
});

/**
 * Its users' other roles stay, and the database gives the default role to those who have none left. A role that holds
 * a permission the caller lacks stays too.
 */
export const remove = (id: Id): GuardedQuery<null> => ({
  with: sql`
    target as (select id, is_default from roles where id = ${id}::bigint),
    verdict as (
      select
        case
          when not exists (select from target) then 404
          when exists (select from target where is_default = 1) then 405
          when ${exceedsCaller(sql`select permission_id from role_permissions where role_id in (select id from target)`)} then 403
          when not exists (select from roles where is_default = 1) then 500
          else 200
        end as status
      from caller
    ),
    removed as (
      delete from roles
      where id in (select id from target) and ${allowed}
      returning id
    ),
  `,
  select: sql`
    select status, null from verdict where status <> 200
    union all
    select 200, null from removed
  `,
});
