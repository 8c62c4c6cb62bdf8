-- An address may be somebody else's one day, so nobody waits for it for good.
alter table awaited_emails
  add column expires_at timestamptz not null default now() + interval '30 days';
