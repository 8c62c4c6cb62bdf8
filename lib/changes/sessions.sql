create function release_locks_of(editor bigint) returns void language sql as $$
  delete from user_locks where editor_id = editor;
  delete from contributor_locks where editor_id = editor
$$;

-- Ends all sessions of a user, and releases the user's edit locks. Returns how many sessions were open.
create function end_sessions_of(target bigint) returns bigint language plpgsql as $$
  declare
    ended bigint;
  begin
    update refresh_tokens
    set revoked_at = now()
    where user_id = target and expires_at > now() and revoked_at is null;
    get diagnostics ended = row_count;
    perform release_locks_of(target);
    return ended;
  end
$$;
