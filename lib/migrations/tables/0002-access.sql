create table users (
  id bigint generated always as identity primary key,
  slug text not null constraint users_slug_key unique,
  username text not null check (username <> ''),
  username_key text not null generated always as (name_key(username)) stored collate "C",
  age_verified boolean not null default false,
  image text,
  registered timestamptz not null default now()
);

comment on column users.image is 'Key of the profile image in the bucket';

create unique index users_username_key on users (identity_key(username));

create index users_by_name on users (username_key, id);

create index users_by_registration on users (registered, id);

create index users_by_trigram on users using gin (username_key gin_trgm_ops);

create trigger assign_slug before insert on users for each row execute function assign_slug();

create table roles (
  id bigint generated always as identity primary key,
  key text constraint roles_key_key unique,
  name text not null check (name <> ''),
  description text,
  is_default smallint not null default 0 check (is_default in (0, 1))
);

comment on column roles.key is 'Marks the role that this service itself knows, administrator; never changes';

create unique index roles_name_key on roles (identity_key(name));

create unique index roles_default_key on roles (is_default) where is_default = 1;

create table permissions (
  id bigint generated always as identity primary key,
  key text constraint permissions_key_key unique,
  name text not null check (name <> ''),
  description text not null default ''
);

comment on column permissions.key is 'What this service checks; never changes. Null: a permission of other services';

create unique index permissions_name_key on permissions (identity_key(name));

create table user_roles (
  user_id bigint not null references users on delete cascade,
  role_id bigint not null constraint user_roles_role_id_fkey references roles on delete cascade,
  primary key (user_id, role_id)
);

create index user_roles_by_role on user_roles (role_id, user_id);

-- So that the planner knows rare roles from common ones when it lists the users of one.
alter table user_roles alter column role_id set statistics 1000;

create table role_permissions (
  role_id bigint not null references roles on delete cascade,
  permission_id bigint not null constraint role_permissions_permission_id_fkey references permissions on delete cascade,
  primary key (role_id, permission_id)
);

create index role_permissions_by_permission on role_permissions (permission_id);

create table refresh_tokens (
  digest bytea primary key check (length(digest) = 32),
  user_id bigint not null,
  issued_at timestamptz not null default now(),
  expires_at timestamptz not null,
  revoked_at timestamptz
);

comment on table refresh_tokens is 'Sessions, by the SHA-256 of their token. A session outlives its user, hence no foreign key; user ids are never reused';

create index refresh_tokens_by_user on refresh_tokens (user_id, expires_at);

create table user_locks (
  user_id bigint primary key references users on delete cascade,
  holder_id bigint not null references users on delete cascade,
  expires_at timestamptz not null
);

create index user_locks_by_holder on user_locks (holder_id);

-- Nobody is without a role: whoever loses the last one gets the default role. A trigger sees what others have
-- committed meanwhile, so two role deletions that share a user cannot leave the user with none.
create function give_default_role() returns trigger
  language plpgsql
  as $$
    begin
      perform from users where id in (select user_id from removed) order by id for update;
      insert into user_roles (user_id, role_id)
      select users.id, (select id from roles where is_default = 1)
      from users
      where
        id in (select user_id from removed)
        and not exists (select from user_roles where user_id = users.id);
      return null;
    end
  $$;

create trigger give_default_role after delete on user_roles
  referencing old table as removed for each statement execute function give_default_role();
