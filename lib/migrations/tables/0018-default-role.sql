-- Who loses the last role gets the default role, as before. But the users are looked for by the rows that were removed.
-- PostgreSQL expects that nearly everybody has a role, and compared all users with all removed rows when thousands had
-- lost theirs.
create or replace function give_default_role() returns trigger
  language plpgsql
  as $$
    begin
      perform from users where id in (select user_id from removed) order by id for update;
      insert into user_roles (user_id, role_id)
      select user_id, (select id from roles where is_default = 1)
      from (select distinct user_id from removed) as loser
      where
        exists (select from users where id = loser.user_id)
        and not exists (select from user_roles where user_id = loser.user_id);
      return null;
    end
  $$;
