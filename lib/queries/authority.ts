import sql, { type Sql } from "sql-template-tag";

/**
 * Nobody can hand out, or take away, more than they hold : whether one of these permissions
 * is one this service checks and the caller lacks. With the permissions of a user: whether that user can do more than
 * the caller, and so is beyond the caller's power.
 * @param permissionIds a select of permission ids
 */
export const exceedsCaller = (permissionIds: Sql): Sql => sql`
  exists (
    select
    from permissions as handed
    where
      handed.key is not null
      and handed.id in (${permissionIds})
      and not exists (
        select
        from
          caller
          join user_roles as held on held.user_id = caller.id
          join role_permissions as granted on granted.role_id = held.role_id
        where granted.permission_id = handed.id
      )
  )
`;

/** The permissions a user holds through any of their roles, as a select of ids. */
export const permissionsOfUser = (user: Sql): Sql =>
  permissionsOfRoles(sql`select role_id from user_roles where user_id = ${user}`);

/** @param roleIds a select of role ids */
export const permissionsOfRoles = (roleIds: Sql): Sql =>
  sql`select permission_id from role_permissions where role_id in (${roleIds})`;

/** The ids of a JSON array, as a select. */
export const idsIn = (ids: readonly number[]): Sql =>
  sql`select cast(value as bigint) as value from json_array_elements_text(${JSON.stringify(ids)}::json)`;
