-- Administrators, and everybody else who has an account.
create table users (
  id bigint generated always as identity primary key,
  slug text not null constraint users_slug_key unique,
  username text not null check (username <> ''),
  username_key text not null generated always as (name_key(username)) stored collate "C",
  search_keys text not null generated always as (search_key(username)) stored collate "C",
  age_verified boolean not null default false,
  -- Key of the profile image in the bucket. A key that ends in -256 names the small picture of another image
  -- (lib/images/keys.ts), and those of contributors lie in avatars/.
  image text constraint users_image_is_own check (image !~ '^avatars/|-256(\.\w+)?$'),
  registered timestamptz not null default now(),
  version bigint not null default 1,
  changed_at timestamptz not null default now() -- When it, or which roles it has, was changed; kept by triggers
);

create unique index users_username_key on users (identity_key(username));

create index users_by_name on users (username_key, id);

create index users_by_registration on users (registered, id);

create index users_by_change on users (changed_at, id);

create index users_by_grams on users using gin (grams(search_keys));

create unique index users_image_key on users (image) where image is not null;

create trigger assign_slug before insert on users for each row execute function assign_slug();

create trigger list_former_image after insert or update of image or delete on users
  for each row execute function list_former_image();

-- Sets of permissions; one of them is the default role.
create table roles (
  id bigint generated always as identity primary key,
  -- Marks the role that this service itself knows, administrator; never changes
  key text constraint roles_key_key unique,
  name text not null check (name <> ''),
  description text,
  is_default smallint not null default 0 check (is_default in (0, 1)),
  version bigint not null default 1,
  changed_at timestamptz not null default now() -- As of users, with the permissions of the role
);

create unique index roles_name_key on roles (identity_key(name));

create unique index roles_default_key on roles (is_default) where is_default = 1;

-- What a role permits.
create table permissions (
  id bigint generated always as identity primary key,
  -- What this service checks; never changes. Null: a permission of other services
  key text constraint permissions_key_key unique,
  name text not null check (name <> ''),
  description text not null default '',
  version bigint not null default 1,
  changed_at timestamptz not null default now()
);

create unique index permissions_name_key on permissions (identity_key(name));

create table role_permissions (
  role_id bigint not null references roles on delete cascade,
  permission_id bigint not null constraint role_permissions_permission_id_fkey references permissions on delete cascade,
  primary key (role_id, permission_id)
);

create index role_permissions_by_permission on role_permissions (permission_id);

create trigger note_change before update on roles for each row execute function note_change();

create trigger note_change before update on permissions for each row execute function note_change();

call keep_changed_at('roles', 'id', 'role_id', '{role_permissions}', '{insert, update, delete}');

-- A role's users are listed by keys that lie beside their roles: in the order of all users, those whose names come late
-- would be looked for among everybody.
create table user_roles (
  user_id bigint not null references users on delete cascade,
  role_id bigint not null constraint user_roles_role_id_fkey references roles on delete cascade,
  username_key text not null collate "C", -- The user's, as is registered; kept by triggers
  registered timestamptz not null,
  primary key (user_id, role_id)
);

create index user_roles_by_name on user_roles (role_id, username_key, user_id);

create index user_roles_by_registration on user_roles (role_id, registered, user_id);

-- So that the planner knows rare roles from common ones when a name is searched for among the users of one.
alter table user_roles alter column role_id set statistics 1000;

-- The lock waits for a user who is being renamed and then finds the new name; renaming a user waits for this lock in
-- turn.
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

-- A user who loses the last role gets the default role. A trigger sees what others have committed meanwhile, so two
-- role deletions that share a user cannot leave the user with none. The users are looked for by the removed rows:
-- PostgreSQL expects that nearly everybody has a role, and would compare all users with all removed rows.
create function give_default_role() returns trigger
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

-- Triggers of one event run in the order of their names: this one after record_delete, so the history has the role that
-- is taken before the one that is given.
create trigger to_default_role after delete on user_roles
  referencing old table as removed for each statement execute function give_default_role();

create trigger note_change before update on users for each row execute function note_change();

-- A user who is renamed is changed without this.
call keep_changed_at('users', 'id', 'user_id', '{user_roles}', '{insert, delete}');

-- Sessions, by the SHA-256 of their token. A session outlives its user, hence no foreign key; user ids are never
-- reused.
create table refresh_tokens (
  digest bytea primary key check (length(digest) = 32),
  user_id bigint not null,
  issued_at timestamptz not null default now(),
  expires_at timestamptz not null,
  revoked_at timestamptz,
  by_sign_in boolean not null default false -- Whether the user signed in; otherwise an operator issued the token
);

create index refresh_tokens_by_user on refresh_tokens (user_id, expires_at);

-- Who is editing a user, and until when.
create table user_locks (
  user_id bigint primary key references users on delete cascade,
  editor_id bigint not null references users on delete cascade,
  expires_at timestamptz not null
);

create index user_locks_by_editor on user_locks (editor_id);
