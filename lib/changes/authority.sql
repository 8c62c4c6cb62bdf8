-- Whether a user holds one of the fifteen permissions, named by its key.
create function holds(holder bigint, permission text) returns boolean language plpgsql stable as $$
  begin
    return exists (
      select
      from user_roles as held join role_permissions as granted on granted.role_id = held.role_id
      where held.user_id = holder and permission_id = (select id from permissions where key = permission)
    );
  end
$$;

-- Whose session it is or was, and the status that it and its user's permissions give. Reads have it decided here, too,
-- since a function keeps the plans of what it asks.
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
      when holds(id, permission) then 200
      else 403
    end;
  end
$$;

-- Those of the fifteen permissions that a user holds, in order.
create function powers(holder bigint) returns bigint[] language plpgsql stable as $$
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

-- Whether one of the fifteen is among these permissions that the holder lacks.
create function exceeds(holder bigint, permission_ids bigint[]) returns boolean language sql stable as $$
  select exists (
    select from permissions where id = any(permission_ids) and key is not null and id <> all(powers(holder))
  )
$$;

-- Whether the holder can do all that is to be permitted at all, and so may look after the Administrator role.
create function holds_all(holder bigint) returns boolean language sql stable as $$
  select powers(holder) @> array(select id from permissions where key is not null)
$$;

-- Whether a user can do all that another can, and more.
create function outranks(superior bigint, holder bigint) returns boolean language plpgsql stable as $$
  declare
    more bigint[] = powers(superior);
    less bigint[] = powers(holder);
  begin
    return more @> less and more <> less;
  end
$$;

-- Whether a user has the Administrator role among these and the caller may not take it: for want of power, or as the
-- user is the last to have it.
create function is_kept_administrator(target bigint, caller bigint, lost bigint[]) returns boolean
  language sql stable as $$
  select
    exists (select from user_roles where role_id = role.id and user_id = target)
    and not (holds_all(caller) and exists (select from user_roles where role_id = role.id and user_id <> target))
  from roles as role
  where key = 'administrator' and id = any(lost)
$$;
