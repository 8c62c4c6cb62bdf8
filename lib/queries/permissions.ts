import sql from "sql-template-tag";
import type { Answer } from "../contract/declare.ts";
import type { GuardedListQuery } from "../database/list.ts";
import type { GuardedQuery } from "../database/query.ts";

type Id = number | null;

const record = sql`json_build_object('id', id, 'name', name, 'description', description)`;

export const list = (): GuardedListQuery<Answer<"Permission">> => ({
  guarded: true,
  max: sql`select count(*) from permissions`,
  page: ({ after, limit }) => sql`
    select id, id, ${record}
    from permissions
    where id > ${after?.id ?? 0}::bigint
    order by id
    limit ${limit}::bigint
  `,
});

export const find = (id: Id): GuardedQuery<Answer<"Permission">> => ({
  guarded: true,
  select: sql`
    select ${record}, version
    from permissions
    where id = ${id}::bigint
  `,
});
