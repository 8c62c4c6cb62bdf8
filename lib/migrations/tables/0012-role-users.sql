-- A role's users are listed by keys that lie beside their roles: in the order of all users, those whose names come late
-- would be looked for among everybody. The table is made anew, which takes a quarter of the time that filling in does.
-- Meanwhile changes wait for their lock; whoever reads does not until the old table goes.
select cast(pg_advisory_xact_lock(8146205) as text);

create table holders (
  user_id bigint not null,
  role_id bigint not null,
  username_key text not null collate "C",
  registered timestamptz not null
);

insert into holders (user_id, role_id, username_key, registered)
select users.id, held.role_id, users.username_key, users.registered
from user_roles as held join users on users.id = held.user_id;

alter table holders add primary key (user_id, role_id);

create index user_roles_by_name on holders (role_id, username_key, user_id);

create index user_roles_by_registration on holders (role_id, registered, user_id);

alter table holders
  add constraint user_roles_user_id_fkey foreign key (user_id) references users on delete cascade,
  add constraint user_roles_role_id_fkey foreign key (role_id) references roles on delete cascade;

-- So that the planner knows rare roles from common ones when a name is searched for among the users of one.
alter table holders alter column role_id set statistics 1000;

analyze holders;

drop table user_roles;

alter table holders rename to user_roles;

alter index holders_pkey rename to user_roles_pkey;

create trigger give_default_role after delete on user_roles
  referencing old table as removed for each statement execute function give_default_role();

create trigger tally_added after insert on user_roles
  referencing new table as added for each statement execute function tally_role_users();

create trigger tally_removed after delete on user_roles
  referencing old table as removed for each statement execute function tally_role_users();

-- Whoever gives a role names no keys; earlier releases, which go on running for a while, do not know them. The lock
-- waits for a user who is being renamed and then finds the new name, and who renames waits for this one in turn.
create function take_sort_keys() returns trigger
  language plpgsql
  as $$
    begin
      select username_key, registered into new.username_key, new.registered
      from users
      where id = new.user_id
      for share;
      return new;
    end
  $$;

create trigger take_sort_keys before insert on user_roles for each row execute function take_sort_keys();

create function pass_on_sort_keys() returns trigger
  language plpgsql
  as $$
    begin
      update user_roles set username_key = new.username_key, registered = new.registered where user_id = new.id;
      return null;
    end
  $$;

create trigger pass_on_sort_keys after update on users
  for each row when ((old.username_key, old.registered) is distinct from (new.username_key, new.registered))
  execute function pass_on_sort_keys();
