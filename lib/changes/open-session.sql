-- An operator opens a session for a user, for a day or more. The database gets only the hash of its token. 404 means
-- that the user does not exist. The answer is the time when the session ends.
create function open_session(request request) returns outcome language plpgsql as $$
  declare
    holder bigint = (
      select id from users where identity_key(username) = identity_key(request.asked ->> 'username')
    );
    days integer = request.asked ->> 'days';
    ends timestamptz = now() + make_interval(days => days);
  begin
    if coalesce(days, 0) < 1 then
      return refused(400, 'days');
    end if;
    if holder is null then
      return refused(404);
    end if;

    insert into refresh_tokens (digest, user_id, expires_at) values (decode(request.digest, 'hex'), holder, ends);
    return done(request, record => holder, answer => to_json(ends));
  end
$$;
