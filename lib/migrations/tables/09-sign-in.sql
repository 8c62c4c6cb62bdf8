-- Who a user is for a provider of OpenID Connect; a user may have several.
create table identities (
  issuer text not null,
  subject text not null,
  user_id bigint not null references users on delete cascade,
  linked_at timestamptz not null default now(),
  primary key (issuer, subject)
);

create index identities_by_user on identities (user_id);

-- Of e-mail addresses only the ASCII letters have no case. To fold others would make one address of two that belong to
-- different people (U+212A is folded to k, and U+017F to s).
create function email_key(email text) returns text
  language sql immutable strict parallel safe
  return lower(email collate "C");

-- Who signs in first with such an address, verified by the issuer, becomes this user. An address may change its owner,
-- so it is awaited for a limited time.
create table awaited_emails (
  issuer text not null,
  email text not null check (email = email_key(email)),
  user_id bigint not null references users on delete cascade,
  expires_at timestamptz not null default now() + interval '30 days',
  primary key (issuer, email)
);

create index awaited_emails_by_user on awaited_emails (user_id);

-- Attempts to sign in that have asked the provider for tokens, which each does once; digest names the request that did.
create table used_attempts (
  key text primary key,
  digest text not null,
  used_at timestamptz not null default now()
);
