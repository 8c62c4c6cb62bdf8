-- An operator gives a user a link, or takes it away (`remove`). The result has all links of the user.
create function link_identity(request request) returns outcome language plpgsql as $$
  declare
    link json = request.input -> 'link';
    removes boolean = coalesce(cast(request.input ->> 'remove' as boolean), false);
    person users;
    error outcome;
    links jsonb;
    outcome outcome;
  begin
    select * into person from users where identity_key(username) = identity_key(request.input ->> 'username');
    if not found then
      return refused(404, 'There is no such user');
    end if;

    if removes then
      if not remove_link(link, person.id) then
        return refused(404, 'The user has no such link');
      end if;
    else
      error = link_error(link, person.id);
      if error.status is not null then
        return error;
      end if;
      if not add_link(link, person.id) then
        return succeeded(cast(links_of(person.id) as json));
      end if;
    end if;

    links = links_of(person.id);
    -- An address is erased when it has linked, so the ledger never has it.
    outcome = done(request, null, cast(links - 'emails' as json), record => 'user/' || person.id);
    outcome.result = links;
    return outcome;
  end
$$;
