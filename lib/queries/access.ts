import sql, { type Sql } from "sql-template-tag";
import { permissions } from "../contract/permissions.ts";

/* What operators' functions do to users, sessions and the permissions that this service itself knows. */

const known = JSON.stringify(Object.entries(permissions).map(([key, description]) => ({ key, description })));

/**
 * Restores the fifteen permissions and the Administrator role where they are missing, and gives the role every one of
 * them. A restored name that somebody else uses meanwhile gets the time added: it is the key that opens doors.
 */
export const restore: Sql = sql`
  with
    known as (
      select key, description
      from json_to_recordset(${known}::json) as known (key text, description text)
    ),
    restored_permissions as (
      insert into permissions (key, name, description)
      select key, ${freeName(sql`key`, sql`permissions`)}, description
      from known
      on conflict (key) do nothing
      returning id
    ),
    restored_role as (
      insert into roles (key, name, description)
      values ('administrator', ${freeName(sql`'Administrator'`, sql`roles`)}, 'May do everything')
      on conflict (key) do nothing
      returning id
    ),
    granted as (
      insert into role_permissions (role_id, permission_id)
      select role.id, permission.id
      from
        (select id from restored_role union select id from roles where key = 'administrator') as role,
        (select id from restored_permissions union select id from permissions where key is not null) as permission
      on conflict do nothing
      returning permission_id
    )
  select
    (select count(*) from restored_permissions),
    (select count(*) from restored_role),
    (select count(*) from granted)
`;

function freeName(name: Sql, table: Sql): Sql {
  return sql`
    ${name} || case
      when exists (select from ${table} as taken where identity_key(taken.name) = identity_key(${name}))
        then to_char(now(), ' (YYYY-MM-DD HH24.MI.SS)')
      else ''
    end
  `;
}

/**
 * Adds a user with these roles, or the default one; gives no row when a role is missing. `Administrator` is the role
 * with that key, whatever it is called meanwhile: somebody may have renamed it and named another one so.
 */
export const createUser = (username: string, slug: string, roles: readonly string[]): Sql => sql`
  with
    asked as (
      select (
        select id
        from roles
        where identity_key(given.name) in (key, identity_key(name))
        order by key is null
        limit 1
      ) as role_id
      from json_array_elements_text(${JSON.stringify(roles)}::json) as given (name)
    ),
    wanted as (
      select role_id as id from asked
      union
      select id from roles where is_default = 1 and ${roles.length}::int = 0
    ),
    added as (
      insert into users (username, slug)
      select ${username}::text, ${slug}::text
      where
        exists (select from wanted)
        and not exists (select from asked where role_id is null)
      returning id, username, slug
    ),
    held as (
      insert into user_roles (user_id, role_id)
      select added.id, wanted.id from added, wanted
    )
  select id, username, slug from added
`;

/** Opens a session; gives its expiry (ISO 8601), or no row when there is no such user. */
export const openSession = (username: string, digest: string, days: number): Sql => sql`
  insert into refresh_tokens (digest, user_id, expires_at)
  select decode(${digest}::text, 'hex'), id, now() + make_interval(days => ${days}::int)
  from users
  where identity_key(username) = identity_key(${username}::text)
  returning to_char(expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
`;
