import sql, { type Sql } from "sql-template-tag";

/**
 * Nobody can hand out, or take away, more than they hold (design, "Authentication"): whether one of these permissions
 * is one this service checks and the caller lacks.
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

/** The ids of a JSON array, as a select. */
export const idsIn = (ids: readonly number[]): Sql =>
  sql`select cast(value as bigint) from json_array_elements_text(${JSON.stringify(ids)}::json)`;
