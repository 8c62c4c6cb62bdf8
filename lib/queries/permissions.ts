import sql from "sql-template-tag";
import type { Answer } from "../contract/declare.ts";
import type { GuardedListQuery } from "../database/list.ts";
import type { GuardedQuery } from "../database/query.ts";
import { record } from "./json.ts";

type Id = number | null;

const permission = record(sql`id, name, description`);

export const list = (): GuardedListQuery<Answer<"Permission">> => ({
  guarded: true,
  max: sql`select count(*) from permissions`,
  page: ({ after, limit }) => sql`
    select id, id, ${permission}
    from permissions
    where id > ${after?.id ?? 0}::bigint
    order by id
    limit ${limit}::bigint
  `,
});

export const find = (id: Id): GuardedQuery<Answer<"Permission">> => ({
  guarded: true,
  select: sql`
    select ${permission}, version
    from permissions
    where id = ${id}::bigint
  `,
});
