import sql from "sql-template-tag";
import type { Answer } from "../contract/declare.ts";
import type { GuardedListQuery } from "../data-api/list.ts";
import type { GuardedQuery } from "../data-api/query.ts";
import { record } from "./fragments/json.ts";

type Id = number | null;

const fields = sql`id, name, description`;

export const list = (): GuardedListQuery<Answer<"Permission">> => ({
  guarded: true,
  max: sql`select count(*) from permissions`,
  fields,
  key: sql`id`,
  rows: ({ after, limit }) => sql`
    from permissions
    where id > ${after?.id ?? 0}::bigint
    order by id
    limit ${limit}::bigint
  `,
});

export const find = (id: Id): GuardedQuery<Answer<"Permission">> => ({
  guarded: true,
  select: sql`
    select version, cast(${record(fields)} as text) as text
    from permissions
    where id = ${id}::bigint
  `,
});
