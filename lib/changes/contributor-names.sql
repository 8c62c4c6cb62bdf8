-- Makes those queue up who want the same name, first and last together, and tells whether another contributor has it.
-- To be asked before a record is locked.
create function lock_contributor_name(asked json) returns void language sql as $$
  select pg_advisory_xact_lock(hashtextextended(
    'contributor ' || identity_key(asked ->> 'first_name') || chr(10) || identity_key(asked ->> 'last_name'), 0
  ))
$$;

create function is_contributor_name_taken(asked json, target bigint) returns boolean language sql stable as $$
  select exists (
    select
    from contributors
    where
      identity_key(first_name) = identity_key(asked ->> 'first_name')
      and identity_key(last_name) = identity_key(asked ->> 'last_name')
      and id is distinct from target
  )
$$;
