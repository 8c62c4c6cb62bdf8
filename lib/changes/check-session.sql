-- Changes nothing: make_change has checked the session, before a function reads a large body
-- (lib/http/serve-change.ts).
create function check_session(request request, caller caller) returns outcome language sql as $$
  select succeeded()
$$;
