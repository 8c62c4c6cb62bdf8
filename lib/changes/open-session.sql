-- An operator opens a session for a user, whose token this service has made and sees no more; 404 when there is no such
-- user. The answer is when it ends.
create function open_session(request request) returns outcome language plpgsql as $$
  declare
    holder bigint = (
      select id from users where identity_key(username) = identity_key(request.asked ->> 'username')
    );
    ends timestamptz = now() + make_interval(days => cast(request.asked ->> 'days' as integer));
  begin
    if holder is null then
      return refused(404);
    end if;

    insert into refresh_tokens (digest, user_id, expires_at) values (decode(request.digest, 'hex'), holder, ends);
    return done(request, record => holder, answer => to_json(ends));
  end
$$;
