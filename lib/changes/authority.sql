-- The user of a session, and the status for a request with it; a null permission needs only the session. Reads and
-- changes both call this function, since a function keeps its query plans.
create function caller(
  session_digest text, permission text, user_missing integer, out id bigint, out username text, out status integer
) language plpgsql stable security definer set search_path from current as $$
  begin
    select
      token.user_id, users.username,
      case
        when token.expires_at <= now() or token.revoked_at is not null then 401
        when users.id is null then user_missing
        when permission is null then 200
        when exists (
          select
          from user_roles join role_permissions using (role_id) join permissions on permissions.id = permission_id
          where user_id = token.user_id and key = permission
        ) then 200
        else 403
      end
    into id, username, status
    from refresh_tokens as token left join users on users.id = token.user_id
    where digest = decode(session_digest, 'hex');
    if not found then
      status = 401;
    end if;
  end
$$;

create function roles_of(target bigint) returns bigint[] language sql stable as $$
  select array(select role_id from user_roles where user_id = target)
$$;

-- The permissions of these roles.
create function permissions_of(role_ids bigint[]) returns bigint[] language sql stable as $$
  select array(select permission_id from role_permissions where role_id = any(role_ids))
$$;

-- The permissions of this service, each with its bit of a number.
create function service_permissions() returns table (permission_id bigint, permission_key text, flag integer)
  language sql stable as $$
  select id, key, 1 << cast(row_number() over (order by id) as integer) from permissions where key is not null
$$;

create function bits_of(permission_ids bigint[]) returns integer language sql stable as $$
  select coalesce(bit_or(flag), 0) from service_permissions() where permission_id = any(permission_ids)
$$;

-- The permissions of this service that a user holds.
create function held_bits(user_id bigint) returns integer language sql stable as $$
  select bits_of(permissions_of(roles_of(user_id)))
$$;

-- Whether these permissions include one of this service that the user does not hold.
create function lacks_any(user_id bigint, permission_ids bigint[]) returns boolean language sql stable as $$
  select bits_of(permission_ids) & ~ held_bits(user_id) <> 0
$$;

-- The user of a session for a request that needs no permission, which of this service's permissions they hold, and when
-- the session ends. A deleted user has none.
create function session_caller(
  session_digest text, out id bigint, out status integer, out permission_keys text[], out expires_at timestamptz
) language plpgsql stable security definer set search_path from current as $$
  declare
    held bigint[];
  begin
    select users.id, 200, token.expires_at into id, status, expires_at
    from refresh_tokens as token join users on users.id = token.user_id
    where digest = decode(session_digest, 'hex') and token.expires_at > now() and revoked_at is null;
    status = coalesce(status, 401);
    held = permissions_of(roles_of(session_caller.id));
    permission_keys = array(
      select permission_key from service_permissions() where permission_id = any(held) order by flag
    );
  end
$$;

-- The role of users who would have none.
create function default_role() returns bigint[] language sql stable as $$
  select array(select id from roles where is_default = 1)
$$;

-- Whether a user holds all permissions that another user holds, and more.
create function outranks(user_id bigint, other_id bigint) returns boolean language sql stable as $$
  with bits as materialized (select held_bits(user_id) as held, held_bits(other_id) as other)
  select held & other = other and held <> other from bits
$$;

-- Whether a user who outranks the caller has one of these permissions through this role alone, and so would lose it.
-- The role may have hundreds of thousands of users, so one statement compares bits for all of them. Whoever loses their
-- last role gets the default one, but that cannot make up for it: it has no permission that the caller lacks.
create function strips_outranking_user(caller_id bigint, target bigint, removed bigint[]) returns boolean
  language plpgsql stable as $$
  declare
    caller_bits integer = held_bits(caller_id);
    removed_bits integer = bits_of(removed);
  begin
    if removed_bits = 0 or caller_bits = (select bit_or(flag) from service_permissions()) then
      return false;
    end if;
    return exists (
      with
        role_bits as (
          select role_id, bit_or(flag) as bits
          from role_permissions join service_permissions() using (permission_id)
          group by role_id
        ),
        user_bits as (
          select bit_or(bits) as bits, coalesce(bit_or(bits) filter (where role_id <> target), 0) as other_bits
          from user_roles join role_bits using (role_id)
          where user_id in (select user_id from user_roles where role_id = target)
          group by user_id
        )
      select
      from user_bits
      where bits & caller_bits = caller_bits and bits <> caller_bits and bits & removed_bits & ~ other_bits <> 0
    );
  end
$$;

-- Whether a user has the Administrator role, which is known by its key.
create function is_administrator(user_id bigint) returns boolean language sql stable as $$
  select exists (select from roles where key = 'administrator' and id = any(roles_of(user_id)))
$$;

-- The rule by which the caller may not grant these roles, or null. Only its users grant the Administrator role: others
-- may hold all permissions that an administrator has left.
create function granting_rule(caller_id bigint, role_ids bigint[]) returns integer language sql stable as $$
  select case
    when exists (select from roles where id = any(role_ids) and key = 'administrator')
      and not is_administrator(caller_id)
    then 3
    when lacks_any(caller_id, permissions_of(role_ids)) then 1
  end
$$;

-- The rule by which the caller may not take the Administrator role from a user who loses these roles: the caller does
-- not have it, or only the user does. Otherwise null.
create function leaving_rule(target bigint, caller_id bigint, removed bigint[]) returns integer
  language sql stable as $$
  select 3
  from roles as role
  where
    key = 'administrator'
    and id = any(removed)
    and exists (select from user_roles where role_id = role.id and user_id = target)
    and not (
      is_administrator(caller_id)
      and exists (select from user_roles where role_id = role.id and user_id <> target)
    )
$$;
