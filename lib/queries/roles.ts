import sql, { type Sql } from "sql-template-tag";
import type { ListQuery } from "../data-api/list.ts";
import { record, records } from "./fragments/json.ts";

export const list = (): ListQuery => ({
  page: ({ after, limit }) => sql`
    select id, name, description, coalesce(permissions, 0) as permission_count, coalesce(total, 0) as user_count
    from
      roles
      left join (
        select role_id, count(*) as permissions from role_permissions group by role_id
      ) as granted on role_id = roles.id
      left join counters on subject = 'users of role' and scope = roles.id
    where id > ${after?.id ?? 0}::bigint
    order by id
    limit ${limit}::bigint
  `,
});

export const find = (id: number | null): Sql => sql`
  select version, null::text as warning, ${record(sql`
    id, name, coalesce(description, '') as description, is_default, ${permissions} as permissions
  `)} as body
  from roles
  where id = ${id}::bigint
`;

const permissions = records(sql`
  select permissions.id, permissions.name, permissions.description
  from role_permissions as granted join permissions on permissions.id = granted.permission_id
  where granted.role_id = roles.id
  order by permissions.id
`);
