-- Forgets what nobody needs any more, a batch at a time: rows of the ledger older than so many days, sessions that
-- ended 30 days ago, and releases neither among the last ten nor in use within 90 days. The answer is how many of each.
create function tidy(request request) returns outcome language plpgsql as $$
  declare
    batch integer = 10000;
    age interval = make_interval(days => cast(request.asked ->> 'days' as integer));
    changes_gone bigint;
    sessions_gone bigint;
    releases_gone bigint = 0;
    old text;
    answer json;
  begin
    delete from changes where id in (select id from changes where at < now() - age limit batch);
    get diagnostics changes_gone = row_count;

    delete from refresh_tokens
    where digest in (
      select digest
      from refresh_tokens
      where least(expires_at, revoked_at) < now() - interval '30 days'
      limit batch
    );
    get diagnostics sessions_gone = row_count;

    -- As long as a stage runs this, it is in use.
    update releases set installed_at = now() where schema = current_schema();
    for old in
      delete from releases
      where
        installed_at < now() - interval '90 days'
        and schema not in (select schema from releases order by installed_at desc limit 10)
      returning schema
    loop
      -- The name of a schema can be no parameter.
      execute format('drop schema if exists %I cascade', old);
      releases_gone = releases_gone + 1;
    end loop;

    answer = json_build_object(
      'changes', changes_gone,
      'sessions', sessions_gone,
      'releases', releases_gone,
      'isDone', greatest(changes_gone, sessions_gone) < batch
    );
    if changes_gone + sessions_gone + releases_gone = 0 then
      return answered(answer);
    end if;
    return done(request, answer => answer);
  end
$$;
