-- A caller who opens a record and may edit it takes its edit lock for 15 minutes, or renews it, unless somebody else
-- has it. The caller is the user of the session: who has only the password of a role takes no lock in another name.
-- Edit locks only show who is editing; nobody is kept from it. So a record is shown without one, and the log warns, if
-- the database can only be read or if another transaction does not release a row soon. `still_exists` is false if the
-- record or the caller has just been deleted.
create function open_user(session_digest text, target bigint, out still_exists boolean, out warning text)
  language plpgsql set lock_timeout = '100ms' as $$
  declare
    holder bigint = (select id from caller(session_digest, 'edit-users', 401) where caller.status = 200);
  begin
    still_exists = true;
    if holder is null or outranks(target, holder) then
      return;
    end if;
    insert into user_locks as held (user_id, holder_id, expires_at)
    values (target, holder, now() + interval '15 minutes')
    on conflict (user_id) do update
    set
      holder_id = excluded.holder_id,
      expires_at = excluded.expires_at
    where held.holder_id = excluded.holder_id or held.expires_at <= now();
  exception
    when foreign_key_violation then
      still_exists = false;
    when read_only_sql_transaction or lock_not_available then
      warning = 'The user is shown without an edit lock, ' || sqlerrm;
  end
$$;

-- The same for a contributor.
create function open_contributor(session_digest text, target bigint, out still_exists boolean, out warning text)
  language plpgsql set lock_timeout = '100ms' as $$
  declare
    holder bigint = (select id from caller(session_digest, 'edit-contributors', 401) where caller.status = 200);
  begin
    still_exists = true;
    if holder is null then
      return;
    end if;
    insert into contributor_locks as held (contributor_id, holder_id, expires_at)
    values (target, holder, now() + interval '15 minutes')
    on conflict (contributor_id) do update
    set
      holder_id = excluded.holder_id,
      expires_at = excluded.expires_at
    where held.holder_id = excluded.holder_id or held.expires_at <= now();
  exception
    when foreign_key_violation then
      still_exists = false;
    when read_only_sql_transaction or lock_not_available then
      warning = 'The contributor is shown without an edit lock, ' || sqlerrm;
  end
$$;
