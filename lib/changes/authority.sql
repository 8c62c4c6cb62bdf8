-- Whether a user holds a permission of this service, given by its key.
create function has_permission(holder bigint, permission text) returns boolean language plpgsql stable as $$
  begin
    return exists (
      select
      from user_roles as held join role_permissions as granted on granted.role_id = held.role_id
      where held.user_id = holder and permission_id = (select id from permissions where key = permission)
    );
  end
$$;

-- The user of a session, and the status for a request with it. Reads and changes both call this function, since a
-- function keeps its query plans.
create function caller(
  session_digest text, permission text, user_missing integer, out id bigint, out username text, out status integer
) language plpgsql stable as $$
  declare
    is_valid boolean;
  begin
    select token.user_id, users.username, expires_at > now() and revoked_at is null into id, username, is_valid
    from refresh_tokens as token left join users on users.id = token.user_id
    where digest = decode(session_digest, 'hex');
    status = case
      when is_valid is not true then 401
      when username is null then user_missing
      when has_permission(id, permission) then 200
      else 403
    end;
  end
$$;

-- The ids of this service's permissions that a user holds, in order.
create function service_permissions(holder bigint) returns bigint[] language plpgsql stable as $$
  begin
    return array(
      select id
      from permissions
      where
        key is not null
        and id in (
          select permission_id
          from user_roles as held join role_permissions as granted on granted.role_id = held.role_id
          where held.user_id = holder
        )
      order by id
    );
  end
$$;

-- Whether these permissions include one of this service that the user does not hold.
create function lacks_any(holder bigint, permission_ids bigint[]) returns boolean language sql stable as $$
  select exists (
    select from permissions where id = any(permission_ids) and key is not null and id <> all(service_permissions(holder))
  )
$$;

-- Whether a user holds all permissions of this service, and so may manage the Administrator role.
create function has_all_permissions(holder bigint) returns boolean language sql stable as $$
  select service_permissions(holder) @> array(select id from permissions where key is not null)
$$;

-- Whether a user holds all permissions that another user holds, and more.
create function outranks(superior bigint, holder bigint) returns boolean language plpgsql stable as $$
  declare
    more bigint[] = service_permissions(superior);
    less bigint[] = service_permissions(holder);
  begin
    return more @> less and more <> less;
  end
$$;

-- Whether the Administrator role is among these roles of a user, and the caller may not take it away: the caller does
-- not hold all permissions, or the user is the last one with this role.
create function must_stay_administrator(target bigint, caller bigint, removed bigint[]) returns boolean
  language sql stable as $$
  select
    exists (select from user_roles where role_id = role.id and user_id = target)
    and not (has_all_permissions(caller) and exists (select from user_roles where role_id = role.id and user_id <> target))
  from roles as role
  where key = 'administrator' and id = any(removed)
$$;
