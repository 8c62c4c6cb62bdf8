-- Exact numbers of rows, kept beside the rows by statement-level triggers: counting on every request would make lists
-- slower as the catalogue grows. Rows are touched in one order, so that concurrent writers queue and never deadlock.
create table counters (
  subject text not null,
  scope bigint not null,
  total bigint not null,
  primary key (subject, scope)
);

create function count_contributors() returns trigger
  language plpgsql
  as $$
    begin
      if tg_op = 'INSERT' then
        insert into counters as current (subject, scope, total)
        select subject, scope, count(*)
        from added, unnest(array['contributors', case when public then 'public contributors' end]) as subject
        where subject is not null
        group by subject, scope
        order by subject, scope
        on conflict (subject, scope) do update set total = current.total + excluded.total;
      elsif tg_op = 'DELETE' then
        insert into counters as current (subject, scope, total)
        select subject, scope, -count(*)
        from removed, unnest(array['contributors', case when public then 'public contributors' end]) as subject
        where subject is not null
        group by subject, scope
        order by subject, scope
        on conflict (subject, scope) do update set total = current.total + excluded.total;
      else
        insert into counters as current (subject, scope, total)
        select subject, scope, sum(change)
        from
          (
            select scope, public, 1 as change from added
            union all
            select scope, public, -1 from removed
          ) as changes,
          unnest(array['contributors', case when public then 'public contributors' end]) as subject
        where subject is not null
        group by subject, scope
        having sum(change) <> 0
        order by subject, scope
        on conflict (subject, scope) do update set total = current.total + excluded.total;
      end if;
      return null;
    end
  $$;

create trigger count_added after insert on contributors
  referencing new table as added for each statement execute function count_contributors();

create trigger count_removed after delete on contributors
  referencing old table as removed for each statement execute function count_contributors();

create trigger count_changed after update on contributors
  referencing old table as removed new table as added for each statement execute function count_contributors();

-- Tables counted as a whole: the trigger's argument is the subject.
create function count_rows() returns trigger
  language plpgsql
  as $$
    declare
      change bigint;
    begin
      if tg_op = 'INSERT' then
        select count(*) from added into change;
      else
        select -count(*) from removed into change;
      end if;
      if change <> 0 then
        insert into counters as current (subject, scope, total)
        values (tg_argv[0], 0, change)
        on conflict (subject, scope) do update set total = current.total + excluded.total;
      end if;
      return null;
    end
  $$;

create trigger count_added after insert on publishers
  referencing new table as added for each statement execute function count_rows('publishers');

create trigger count_removed after delete on publishers
  referencing old table as removed for each statement execute function count_rows('publishers');

create trigger count_added after insert on users
  referencing new table as added for each statement execute function count_rows('users');

create trigger count_removed after delete on users
  referencing old table as removed for each statement execute function count_rows('users');

-- Users of each role: the scope is the role's id.
create function count_role_users() returns trigger
  language plpgsql
  as $$
    begin
      if tg_op = 'INSERT' then
        insert into counters as current (subject, scope, total)
        select 'users of role', role_id, count(*) from added group by role_id order by role_id
        on conflict (subject, scope) do update set total = current.total + excluded.total;
      elsif tg_op = 'UPDATE' then
        insert into counters as current (subject, scope, total)
        select 'users of role', role_id, sum(users)
        from (select role_id, 1 as users from added union all select role_id, -1 from removed) as row
        group by role_id
        having sum(users) <> 0
        order by role_id
        on conflict (subject, scope) do update set total = current.total + excluded.total;
      else
        -- An update, since the total of a role that is being deleted is gone by now.
        update counters
        set total = total - lost.users
        from (select role_id, count(*) as users from removed group by role_id) as lost
        where subject = 'users of role' and scope = lost.role_id;
      end if;
      return null;
    end
  $$;

create trigger count_added after insert on user_roles
  referencing new table as added for each statement execute function count_role_users();

create trigger count_changed after update on user_roles
  referencing old table as removed new table as added for each statement execute function count_role_users();

create trigger count_removed after delete on user_roles
  referencing old table as removed for each statement execute function count_role_users();

create function forget_role_counter() returns trigger
  language plpgsql
  as $$
    begin
      delete from counters where subject = 'users of role' and scope = old.id;
      return null;
    end
  $$;

-- Triggers of one event run in the order of their names: this one after the cascade that empties the role.
create trigger forget_counter after delete on roles for each row execute function forget_role_counter();
