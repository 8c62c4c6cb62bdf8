create table used_attempts (
  key text primary key,
  digest text not null,
  used_at timestamptz not null default now()
);

comment on table used_attempts is 'Attempts to sign in that have asked the provider for tokens, which each does once; digest names the request that did';
