-- A caller who opens a record and may edit it takes its edit lock for 15 minutes, or renews it, unless another user has
-- it. The caller is the user of the session: an attacker with the password of a role takes no lock in another name.
-- Edit locks show who is editing, and refuse no edit. So if the database is read-only, or if another transaction does
-- not release a row soon, the record is shown without a lock, and the function logs the warning. `still_exists` is
-- false if the record or the caller has just been deleted.
create function open_record(
  session_digest text, kind text, target bigint, out still_exists boolean, out warning text
) language plpgsql security definer set search_path from current set lock_timeout = '100ms' as $$
  declare
    editor bigint = (select id from caller(session_digest, 'edit-' || kind || 's', 401) where caller.status = 200);
    end_at timestamptz = now() + interval '15 minutes';
  begin
    still_exists = true;
    if kind = 'contributor' and editor is not null then
      insert into contributor_locks as current (contributor_id, editor_id, expires_at)
      values (target, editor, end_at)
      on conflict (contributor_id) do update
      set editor_id = excluded.editor_id, expires_at = excluded.expires_at
      where current.editor_id = excluded.editor_id or current.expires_at <= now();
    elsif kind = 'user' and editor is not null and not outranks(target, editor) then
      insert into user_locks as current (user_id, editor_id, expires_at)
      values (target, editor, end_at)
      on conflict (user_id) do update
      set editor_id = excluded.editor_id, expires_at = excluded.expires_at
      where current.editor_id = excluded.editor_id or current.expires_at <= now();
    end if;
  exception
    when foreign_key_violation then
      still_exists = false;
    when read_only_sql_transaction or lock_not_available then
      warning = format('The %s is shown without an edit lock, %s', kind, sqlerrm);
  end
$$;
