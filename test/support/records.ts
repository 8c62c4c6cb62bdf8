import { randomUUID } from "node:crypto";
import type { Permission } from "../../lib/contract/permissions.ts";
import { type Sql, values } from "./database.ts";

export interface Named {
  readonly id: number;
  readonly name: string;
}

/** A role with exactly these permissions. */
export async function aRole(sql: Sql, ...permissions: readonly Permission[]): Promise<Named> {
  const name = `role ${randomUUID()}`;
  const id = idOf(await sql`insert into roles (name, description) values (${name}, 'Made for a test') returning id`);
  await sql`
    insert into role_permissions (role_id, permission_id)
    select ${id}, id from permissions where key = any(${permissions})
  `;
  return { id, name };
}

export const give = (sql: Sql, user: { id: number }, ...roles: readonly { id: number }[]) =>
  sql`insert into user_roles (user_id, role_id) select ${user.id}, unnest(${roles.map(({ id }) => id)}::bigint[])`;

/** A permission that this service does not check. */
export async function aPermission(sql: Sql): Promise<Named> {
  const name = `permission ${randomUUID()}`;
  return { id: idOf(await sql`insert into permissions (name, description) values (${name}, '') returning id`), name };
}

/** The id of one of the fifteen permissions. */
export const permissionId = async (sql: Sql, key: Permission): Promise<number> =>
  idOf(await sql`select id from permissions where key = ${key}`);

/** The role of users who have no other role. */
export const defaultRoleId = async (sql: Sql): Promise<number> =>
  idOf(await sql`select id from roles where is_default = 1`);

export const roleIdsOf = (sql: Sql, user: { id: number }): Promise<number[]> =>
  values(sql`select role_id from user_roles where user_id = ${user.id} order by 1`);

export const permissionIdsOf = (sql: Sql, role: { id: number }): Promise<number[]> =>
  values(sql`select permission_id from role_permissions where role_id = ${role.id} order by 1`);

/** Gives `holder` the edit lock of the user for so many minutes; a negative number makes an expired lock. */
export const lock = (sql: Sql, user: { id: number }, holder: { id: number }, minutes = 5) => sql`
  insert into user_locks (user_id, editor_id, expires_at)
  values (${user.id}, ${holder.id}, now() + make_interval(mins => ${minutes}))
`;

/** The holder of the lock on a user, even if it has expired. */
export const lockHolderOf = async (sql: Sql, user: { id: number }): Promise<number | undefined> =>
  (await sql`select editor_id from user_locks where user_id = ${user.id}`)[0]?.editor_id;

const idOf = (rows: readonly Record<string, number>[]): number => rows[0]?.id ?? 0;

/** The changes by endpoints and operators that concern a record, the oldest first. */
export const changesOf = (sql: Sql, kind: string, { id }: { readonly id: number }) => sql`
  select id, endpoint, caller_id
  from changes
  where
    endpoint is not null
    and (
      record = ${`${kind}/${id}`}
      or id in (
        select change_id
        from history join history_tables() using (table_name)
        where kind = ${kind} and owners @> array[${id}::bigint]
      )
    )
  order by id
`;
