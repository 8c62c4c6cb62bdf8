-- A link says who a user is for a provider of OpenID Connect, by `issuer` and `subject`, or that the first one who
-- signs in with a verified `email` is the user.

-- The user whom an identity belongs to; of an unknown identity, the user for whom its e-mail address is awaited.
create function identified_user(link json) returns bigint language sql stable as $$
  select coalesce(
    (select user_id from identities where issuer = link ->> 'issuer' and subject = link ->> 'subject'),
    (select user_id from awaited_emails where issuer = link ->> 'issuer' and email = email_key(link ->> 'email'))
  )
$$;
