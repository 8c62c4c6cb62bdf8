-- An operator ends all sessions of a user, given by id or name; attempts to sign in end with them (sign_in). The result
-- has the number of sessions that ended.
create function end_sessions(request request) returns outcome language plpgsql as $$
  declare
    requested json = request.input -> 'user';
    person users;
  begin
    select * into person
    from users
    where
      case json_typeof(requested)
        when 'number' then id = cast(requested #>> '{}' as bigint)
        else identity_key(username) = identity_key(requested #>> '{}')
      end;
    if not found then
      return refused(404, 'There is no such user');
    end if;
    return done(request, null, record => 'user/' || person.id, result => json_build_object(
      'user', person.id, 'username', person.username, 'sessions', end_sessions_of(person.id)
    ));
  end
$$;
