import sql, { type Sql } from "sql-template-tag";
import type { ListQuery } from "../data-api/list.ts";
import { record } from "./fragments/json.ts";

export const list = (): ListQuery => ({
  page: ({ after, limit }) => sql`
    select id, name, description
    from permissions
    where id > ${after?.id ?? 0}::bigint
    order by id
    limit ${limit}::bigint
  `,
});

export const find = (id: number | null): Sql => sql`
  select version, null::text as warning, ${record(sql`id, name, description`)} as body
  from permissions
  where id = ${id}::bigint
`;
