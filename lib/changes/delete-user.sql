-- Leaves only ids in the rows of the ledger about a user, and only the id in rows by the user. Rows about several
-- records keep what was done to others.
create function forget_user(target bigint) returns void language sql as $$
  update changes
  set asked = null, before = null, answer = null
  where
    record_id = target
    and (
      starts_with(endpoint, 'admin-users/')
      or endpoint in (
        'ops/create-user', 'ops/end-sessions', 'ops/issue-refresh-token', 'ops/link-identity', 'sign-in/callback',
        'sign-out'
      )
    );
  update changes set username = null where caller_id = target;
  update changes
  set
    before = (
      select json_agg(
        case
          when effect ->> 'record' = 'user' and cast(effect ->> 'id' as bigint) = target
          then jsonb_strip_nulls(jsonb_build_object(
            'record', 'user', 'id', target, 'did', effect -> 'did', 'undoes', effect -> 'undoes'
          ))
          else effect
        end
        order by place
      )
      from jsonb_array_elements(cast(before as jsonb)) with ordinality as effect (effect, place)
    ),
    answer = null
  where records @> array['user/' || target];
  -- What kept them from being taken back.
  update changes
  set answer = null
  where caller_id is null and endpoint = 'ops/undo' and cast(answer as text) like '%"user/' || target || '"%';
$$;

-- DELETE /admin-users/delete/{id}. Roles, locks and identities go with the user. Sessions stay for a while, so that the
-- answer to them can say that the user is gone. They permit nothing: no other user ever gets the same id. The ledger
-- gets no record of the user, since the deletion is for good.
create function delete_user(request request, caller caller) returns outcome language plpgsql as $$
  declare
    before json = user_record(request.target);
    error outcome = record_error(request, before);
  begin
    if error.status is not null then
      return error;
    end if;
    if outranks(request.target, caller.id)
      or must_stay_administrator(request.target, caller.id, ids(before -> 'roles'))
    then
      return refused(403);
    end if;

    delete from users where id = request.target;
    perform forget_user(request.target);
    if caller.id = request.target then
      caller.username = null;
    end if;
    return done(request, caller, answer => schedule_removal(before));
  end
$$;
