-- A caller who opens a record and may edit it takes its edit lock for 15 minutes, or renews it, unless somebody else
-- has it. Edit locks only show who is editing; nobody is kept from it. The answer is whether the record and the caller
-- still exist.
create function open_user(caller bigint, target bigint) returns boolean language plpgsql as $$
  begin
    if not has_permission(caller, 'edit-users') or outranks(target, caller) then
      return true;
    end if;
    perform from users where id in (target, caller) order by id for key share;
    if not exists (select from users where id = target) or not exists (select from users where id = caller) then
      return false;
    end if;
    insert into user_locks as held (user_id, holder_id, expires_at)
    values (target, caller, now() + interval '15 minutes')
    on conflict (user_id) do update
    set
      holder_id = excluded.holder_id,
      expires_at = excluded.expires_at
    where held.holder_id = excluded.holder_id or held.expires_at <= now();
    return true;
  end
$$;

-- The same for a contributor.
create function open_contributor(caller bigint, target bigint) returns boolean language plpgsql as $$
  begin
    if not has_permission(caller, 'edit-contributors') then
      return true;
    end if;
    perform from contributors where id = target for key share;
    if not found then
      return false;
    end if;
    perform from users where id = caller for key share;
    if not found then
      return false;
    end if;
    insert into contributor_locks as held (contributor_id, holder_id, expires_at)
    values (target, caller, now() + interval '15 minutes')
    on conflict (contributor_id) do update
    set
      holder_id = excluded.holder_id,
      expires_at = excluded.expires_at
    where held.holder_id = excluded.holder_id or held.expires_at <= now();
    return true;
  end
$$;
