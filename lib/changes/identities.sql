-- A link says who a user is for a provider of OpenID Connect, by `issuer` and `subject`, or that the first one who
-- signs in with a verified `email`, in the thirty days that it is awaited, is the user.

-- The user whom an identity belongs to; of an unknown identity, the user for whom its e-mail address is awaited.
create function identified_user(link json) returns bigint language sql stable as $$
  select coalesce(
    (select user_id from identities where issuer = link ->> 'issuer' and subject = link ->> 'subject'),
    (
      select user_id
      from awaited_emails
      where issuer = link ->> 'issuer' and email = email_key(link ->> 'email') and expires_at > now()
    )
  )
$$;

-- Refuses a link that another user has, or that is awaited for another user.
create function link_error(link json, target bigint default null) returns outcome language sql stable as $$
  select refused(409, case
    when link ->> 'subject' is null then 'The e-mail address is awaited for another user'
    else 'The identity belongs to another user'
  end)
  where identified_user(link) <> coalesce(target, 0)
$$;

-- Whether the user did not have the link before.
create function add_link(link json, target bigint) returns boolean language plpgsql as $$
  begin
    if link ->> 'subject' is not null then
      insert into identities (issuer, subject, user_id)
      values (link ->> 'issuer', link ->> 'subject', target)
      on conflict do nothing;
    else
      insert into awaited_emails (issuer, email, user_id)
      values (link ->> 'issuer', email_key(link ->> 'email'), target)
      on conflict (issuer, email) do update
      set user_id = excluded.user_id, expires_at = excluded.expires_at
      where awaited_emails.expires_at <= now();
    end if;
    return found;
  end
$$;

-- Whether the user had the link. With an identity end all sessions that the user signed in to: it is not known which of
-- them began by this identity.
create function remove_link(link json, target bigint) returns boolean language plpgsql as $$
  begin
    if link ->> 'subject' is null then
      delete from awaited_emails
      where issuer = link ->> 'issuer' and email = email_key(link ->> 'email') and user_id = target;
      return found;
    end if;
    delete from identities
    where issuer = link ->> 'issuer' and subject = link ->> 'subject' and user_id = target;
    if not found then
      return false;
    end if;
    update refresh_tokens
    set revoked_at = now()
    where user_id = target and by_sign_in and expires_at > now() and revoked_at is null;
    return true;
  end
$$;

create function links_of(target bigint) returns jsonb language sql stable as $$
  select jsonb_build_object(
    'identities', (
      select coalesce(jsonb_agg(jsonb_build_object('issuer', issuer, 'subject', subject) order by linked_at), '[]')
      from identities
      where user_id = target
    ),
    'emails', (
      select coalesce(jsonb_agg(jsonb_build_object('issuer', issuer, 'email', email) order by issuer, email), '[]')
      from awaited_emails
      where user_id = target and expires_at > now()
    )
  )
$$;
