import sql, { empty, type Sql } from "sql-template-tag";
import type { Answer } from "../contract/declare.ts";
import { shownDescriptionsLengthMax } from "../contract/parameters.ts";
import type { GuardedListQuery } from "../database/list.ts";
import type { GuardedQuery } from "../database/query.ts";
import { exceedsCaller } from "./authority.ts";
import { allowed } from "./verdict.ts";

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
  with: empty,
  select: sql`
    select 200, ${record}
    from permissions
    where id = ${id}::bigint
  `,
});

interface Edit {
  readonly name: string;
  readonly description: string;
}

/** The key stays, and with it what the permission opens. A taken name is for the unique index to find. */
export const edit = (id: Id, { name, description }: Edit): GuardedQuery<null> => ({
  with: sql`
    excessive as (${excessive(id, description)}),
    updated as (
      update permissions
      set
        name = ${name}::text,
        description = ${description}::text
      where id = ${id}::bigint and not exists (select from excessive) and exists (select from caller)
      returning id
    ),
  `,
  select: sql`
    select 400, to_json('description'::text) from excessive
    union all
    select 200, null from updated
  `,
});

/** A row where a longer text would describe a role's permissions in more characters than are shown with a role. */
const excessive = (id: Id, description: string): Sql => sql`
  select
  from
    role_permissions as granted
    join role_permissions as shown using (role_id)
    join permissions on permissions.id = shown.permission_id
  where
    granted.permission_id = ${id}::bigint
    and ${description.length}::int > (select length(description) from permissions where id = ${id}::bigint)
  group by role_id
  having
    sum(case permissions.id when ${id}::bigint then ${description.length}::int else length(permissions.description) end)
    > ${shownDescriptionsLengthMax}::int
  limit 1
`;

/** Without a key: it opens nothing of this service, whatever its name. */
export const add = (name: string, description: string): GuardedQuery<null> => ({
  with: sql`
    added as (
      insert into permissions (name, description)
      select ${name}::text, ${description}::text
      from caller
      returning id
    ),
  `,
  select: sql`select 200, null from added`,
});

/** Roles lose it with its row. One that this service checks and the caller lacks stays: it is others' power. */
export const remove = (id: Id): GuardedQuery<null> => ({
  with: sql`
    verdict as (
      select case when ${exceedsCaller(sql`${id}::bigint`)} then 403 else 200 end as status
      from caller
    ),
    removed as (
      delete from permissions
      where id = ${id}::bigint and ${allowed}
      returning id
    ),
  `,
  select: sql`
    select status, null from verdict where status <> 200
    union all
    select 200, null from removed
  `,
});
