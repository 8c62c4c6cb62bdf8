-- The settings of the roles as which functions log in. They belong to the whole server, and to sessions that begin
-- later. A role may change its own settings: they are a belt, and the lock is what it has a right to (rights.sql).
--
-- A statement ends soon after its caller has stopped waiting (lib/retry.ts): an attempt of a read after 11 s, a change
-- after 24 s, in which several attempts wait for each other. The Data API itself ends any statement after 45 s. The
-- statements of a transaction follow one another within milliseconds.
--
-- The Data API keeps sessions of its own, as many as there are calls at the same time. Even the smallest cluster has
-- 189 connections (1 ACU), so no role alone takes them all, and the database is busy long before.
alter role colophon_public reset all;

alter role colophon_public set default_transaction_read_only = on;

alter role colophon_public set statement_timeout = '12s';

alter role colophon_public set idle_in_transaction_session_timeout = '10s';

alter role colophon_public connection limit 150;

-- Reads that take an edit lock write, by the functions that open a record. So this role is not read-only by default.
alter role colophon_reader reset all;

alter role colophon_reader set statement_timeout = '12s';

alter role colophon_reader set idle_in_transaction_session_timeout = '10s';

alter role colophon_reader connection limit 75;

alter role colophon_editor reset all;

alter role colophon_editor set statement_timeout = '25s';

alter role colophon_editor set idle_in_transaction_session_timeout = '10s';

alter role colophon_editor connection limit 75;

alter role colophon_operator reset all;

alter role colophon_operator set statement_timeout = '45s';

alter role colophon_operator set idle_in_transaction_session_timeout = '10s';

alter role colophon_operator connection limit 30;

-- By default everybody may connect to a database and create temporary tables in it.
do $$
  declare
    service_roles text = 'colophon_public, colophon_reader, colophon_editor, colophon_operator';
    service_role text;
  begin
    execute format('revoke connect, temporary on database %I from public, %s', current_database(), service_roles);
    execute format('grant connect on database %I to %s', current_database(), service_roles);
    foreach service_role in array string_to_array(service_roles, ', ') loop
      execute format('alter role %I in database %I reset all', service_role, current_database());
    end loop;
  end
$$;
