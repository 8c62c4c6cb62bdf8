-- Deletes a batch of old data: changes that are older than so many days (at least 1), after their rows of the history;
-- sessions that ended 30 days ago, cache tags of three days ago, and releases that are not among the last ten and were
-- not in use for 90 days. The result is the number of each. Of three others there are few: imports that are as old as
-- those changes, e-mail addresses that are not awaited any more, and attempts to sign in, which end after ten minutes.
create function tidy(request request) returns outcome language plpgsql as $$
  declare
    batch integer = 10000;
    days integer = request.input ->> 'days';
    deleted_rows bigint;
    deleted_changes bigint;
    deleted_sessions bigint;
    deleted_tags bigint;
    deleted_releases bigint = 0;
    old_changes bigint[];
    old text;
    result json;
  begin
    if coalesce(days, 0) < 1 then
      return refused(400, 'days');
    end if;

    old_changes = array(select id from changes where at < now() - make_interval(days => days) limit batch);
    -- A change is forgotten as a whole, since an undo of half of it would write what never was.
    delete from history
    where change_id in (select change_id from history where change_id = any(old_changes) limit batch);
    get diagnostics deleted_rows = row_count;

    delete from changes
    where id = any(old_changes) and not exists (select from history where change_id = changes.id);
    get diagnostics deleted_changes = row_count;

    delete from refresh_tokens
    where digest in (
      select digest
      from refresh_tokens
      where least(expires_at, revoked_at) < now() - interval '30 days'
      limit batch
    );
    get diagnostics deleted_sessions = row_count;

    -- No edge empties the table, or it has failed to for longer than results stay there.
    delete from stale_tags
    where
      (transaction, tag) in (
        select transaction, tag from stale_tags where added_at < now() - interval '3 days' limit batch
      );
    get diagnostics deleted_tags = row_count;

    delete from imports where moved_at < now() - make_interval(days => days);

    delete from awaited_emails where expires_at <= now();

    delete from used_attempts where used_at < now() - interval '1 day';

    -- A release that runs this is in use.
    update releases set installed_at = now() where schema = current_schema();
    for old in
      delete from releases
      where
        installed_at < now() - interval '90 days'
        and schema not in (select schema from releases order by installed_at desc limit 10)
      returning schema
    loop
      -- A schema's name cannot be a parameter.
      execute format('drop schema if exists %I cascade', old);
      deleted_releases = deleted_releases + 1;
    end loop;

    result = json_build_object(
      'changes', deleted_changes,
      'sessions', deleted_sessions,
      'tags', deleted_tags,
      'releases', deleted_releases,
      'isDone', greatest(cardinality(old_changes), deleted_rows, deleted_sessions, deleted_tags) < batch
    );
    if deleted_changes + deleted_sessions + deleted_releases = 0 then
      return succeeded(result);
    end if;
    return done(request, null, result);
  end
$$;
