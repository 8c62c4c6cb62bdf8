with caller as materialized (
  select token.user_id as id
  from
    refresh_tokens as token
    join user_roles as held on held.user_id = token.user_id
    join role_permissions as granted on granted.role_id = held.role_id
    join permissions on permissions.id = granted.permission_id
  where
    token.digest = decode(:digest, 'hex')
    and token.expires_at > now()
    and token.revoked_at is null
    and permissions.key = :permission
  limit 1
)
