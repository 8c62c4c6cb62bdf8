-- The settings of the roles as which functions log in. They belong to the whole server, and to sessions that begin
-- later. A role may change its own settings: they are a belt, and the lock is what it has a right to (rights.sql).
--
-- A statement ends soon after its caller has stopped waiting (lib/aws/retry.ts): an attempt of a read after 11 s, a
-- change after 24 s, in which several attempts wait for each other. The Data API itself ends any statement after 45 s.
-- The statements of a transaction follow one another within milliseconds. Reads that take an edit lock write, by the
-- functions that open a record. So `colophon_reader` is not read-only by default.
--
-- The Data API keeps sessions of its own, as many as there are calls at the same time. Even the smallest cluster has
-- 189 connections (1 ACU). When one login holds all that it may, by its password or by calls that hang, the others need
-- connections, too. So `colophon_public` has 99 less than the cluster: 75 for changes that all wait for a lock, and 24
-- for administrative reads, operators, sign-ins, and what PostgreSQL and RDS reserve. The database is busy long before.

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
          ('colophon_public', true, '12s', 90),
          ('colophon_reader', false, '12s', 75),
          ('colophon_editor', false, '25s', 75),
          ('colophon_operator', false, '45s', 30),
          ('colophon_signer', false, '25s', 20)
      ) as settings (name, is_read_only, statement_timeout, connections)
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
      execute format('alter role %I connection limit %s', role.name, role.connections);
    end loop;
  end
$$;
