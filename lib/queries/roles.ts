import sql, { type Sql } from "sql-template-tag";
import type { listRoles } from "../contract/admin-roles.ts";
import type { Filters } from "../contract/declare.ts";
import type { ListQuery } from "../data-api/list.ts";
import { changed, included, record, records } from "./fragments/json.ts";
import { isAmong, pageOfFound, recordOrders } from "./fragments/lists.ts";
import { nameContains } from "./fragments/search.ts";

export function list({ order, include, search, ids, permission }: Filters<typeof listRoles>): ListQuery {
  const { column, by } = recordOrders[order];
  return {
    found: sql`
      select id, ${column} as key, name, description, version, changed_at
      from roles
      where ${isAmong(ids)} and ${nameContains(search)} and ${permission === undefined ? sql`true` : gives(permission)}
    `,
    sortInMemory: true,
    page: (batch) => sql`
      select
        id, name, description, coalesce(permissions, 0) as permission_count, coalesce(total, 0) as user_count
        ${included({ version: sql`version`, changed }, include)}
      from
        ${pageOfFound(recordOrders[order], batch)} as page
        left join (
          select role_id, count(*) as permissions from role_permissions group by role_id
        ) as granted on role_id = id
        left join (
          select scope, sum(total)::bigint as total from counters where subject = 'users of role' group by scope
        ) as counted on scope = id
      order by ${by}
    `,
  };
}

const gives = (permission: number): Sql => sql`
  id in (select role_id from role_permissions where permission_id = ${permission}::bigint)
`;

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
