-- Forgets what nobody needs any more, a batch at a time: rows of the ledger older than so many days, and sessions that
-- ended 30 days ago. The answer is how many of each.
create function tidy(request request) returns outcome language plpgsql as $$
  declare
    batch integer = 10000;
    age interval = make_interval(days => cast(request.asked ->> 'days' as integer));
    changes_gone bigint;
    sessions_gone bigint;
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

    answer = json_build_object(
      'changes', changes_gone,
      'sessions', sessions_gone,
      'isDone', greatest(changes_gone, sessions_gone) < batch
    );
    if changes_gone + sessions_gone = 0 then
      return answered(answer);
    end if;
    return done(request, answer => answer);
  end
$$;
