import sql, { type Sql } from "sql-template-tag";
import type { Permission } from "../contract/permissions.ts";

/** Who calls, and what they must hold. */
export interface Guard {
  /** SHA-256 of the refresh token, hexadecimal. */
  readonly digest: string;
  readonly permission: Permission;
  /** The status for a valid session whose user has been deleted. */
  readonly userMissing: 401 | 404;
}

/**
 * Authorisation as a part of the statement that reads: `caller` has one row, the user's id, for a valid session with
 * the permission, and none otherwise; `refusal` then has one row, the status and whose session it is.
 */
export const guarded = ({ digest, permission, userMissing }: Guard): Sql => sql`
  session as materialized (
    select token.user_id, users.id as living
    from refresh_tokens as token left join users on users.id = token.user_id
    where
      token.digest = decode(${digest}::text, 'hex')
      and token.expires_at > now()
      and token.revoked_at is null
  ),
  caller as materialized (
    select living as id
    from session
    where exists (
      select
      from
        user_roles as held
        join role_permissions as granted on granted.role_id = held.role_id
        join permissions on permissions.id = granted.permission_id
      where held.user_id = living and permissions.key = ${permission}::text
    )
  ),
  refusal as (
    select
      case
        when session.user_id is null then 401
        when session.living is null then ${userMissing}::int
        else 403
      end as status,
      session.user_id
    from (select 1) as always left join session on true
    where not exists (select from caller)
  )
`;
