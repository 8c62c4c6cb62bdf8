import sql, { type Sql } from "sql-template-tag";
import type { listPermissions } from "../contract/admin-permissions.ts";
import type { Filters } from "../contract/declare.ts";
import type { ListQuery } from "../data-api/list.ts";
import { changed, included, record } from "./fragments/json.ts";
import { isAmong, pageOfFound, recordOrders } from "./fragments/lists.ts";
import { nameContains } from "./fragments/search.ts";

export function list({ order, include, search, ids }: Filters<typeof listPermissions>): ListQuery {
  const { column, by } = recordOrders[order];
  return {
    found: sql`
      select id, ${column} as key, name, description, version, changed_at
      from permissions
      where ${isAmong(ids)} and ${nameContains(search)}
    `,
    sortInMemory: true,
    page: (batch) => sql`
      select id, name, description ${included({ version: sql`version`, changed }, include)}
      from ${pageOfFound(recordOrders[order], batch)} as page
      order by ${by}
    `,
  };
}

export const find = (id: number | null): Sql => sql`
  select version, null::text as warning, ${record(sql`id, name, description`)} as body
  from permissions
  where id = ${id}::bigint
`;
