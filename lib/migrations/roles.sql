-- The settings of the roles as which functions log in. They belong to the whole server, and to sessions that begin
-- later. A role may change its own settings: they are a belt, and the lock is what it has a right to (rights.sql).
--
-- A statement ends soon after its caller has stopped waiting (lib/aws/retry.ts): an attempt of a read after 11 s, a
-- change after 24 s, in which several attempts wait for each other. The Data API itself ends any statement after 45 s.
-- The statements of a transaction follow one another within milliseconds. Reads that take an edit lock write, by the
-- functions that open a record. So `colophon_reader` is not read-only by default.
--
-- The Data API keeps sessions of its own, as many as there are calls at the same time. A statement holds one until it
-- ends, also when its caller has given up. The last column is the percentage of the server's connections that a login
-- may have; together they leave 5 % to the owner and to RDS. So a login that has all of its connections, by its
-- password or by calls that hang, takes none from the others. infra/settings/connections.ts reads these numbers.

-- By default everybody may connect to a database and create temporary tables in it.
do $$
  declare
    role record;
  begin
    execute format('revoke connect, temporary on database %I from public', current_database());
    for role in
      select *
      from (
        values
          ('colophon_public', true, '12s', 50),
          ('colophon_reader', false, '12s', 20),
          ('colophon_editor', false, '25s', 15),
          ('colophon_operator', false, '45s', 5),
          ('colophon_signer', false, '25s', 5)
      ) as settings (name, is_read_only, statement_timeout, share)
    loop
      execute format('revoke connect, temporary on database %I from %I', current_database(), role.name);
      execute format('grant connect on database %I to %I', current_database(), role.name);
      execute format('alter role %I reset all', role.name);
      execute format('alter role %I in database %I reset all', role.name, current_database());
      -- `off` would hide what an operator sets for the whole database.
      if role.is_read_only then
        execute format('alter role %I set default_transaction_read_only = on', role.name);
      end if;
      execute format('alter role %I set statement_timeout = %L', role.name, role.statement_timeout);
      execute format('alter role %I set idle_in_transaction_session_timeout = %L', role.name, '10s');
      execute format(
        'alter role %I connection limit %s',
        role.name,
        cast(current_setting('max_connections') as integer) * role.share / 100
      );
    end loop;
  end
$$;
