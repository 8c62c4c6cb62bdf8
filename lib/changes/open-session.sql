-- An operator opens a session for a user, for a day or more. The database gets only the hash of its token. The result
-- is the time when the session ends.
create function open_session(request request) returns outcome language plpgsql as $$
  declare
    user_id bigint = (
      select id from users where identity_key(username) = identity_key(request.input ->> 'username')
    );
    days integer = request.input ->> 'days';
    end_at timestamptz = now() + make_interval(days => days);
  begin
    if coalesce(days, 0) < 1 then
      return refused(400, 'days');
    end if;
    if user_id is null then
      return refused(404, 'There is no such user');
    end if;

    insert into refresh_tokens (digest, user_id, expires_at)
    values (decode(request.digest, 'hex'), user_id, end_at);
    return done(request, null, to_json(end_at), record => 'user/' || user_id);
  end
$$;
