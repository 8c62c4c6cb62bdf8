import sql from "sql-template-tag";
import type { Answer } from "../contract/declare.ts";
import type { GuardedListQuery } from "../database/list.ts";
import type { GuardedQuery } from "../database/query.ts";

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
  guarded: true,
  select: sql`
    select
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
      ),
      version
    from roles
    where id = ${id}::bigint
  `,
});
