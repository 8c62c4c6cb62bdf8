-- The rights of the service's roles, granted again after every migration. No other role has any right, and no role can
-- read a new table, or call a new function, until it is listed here. Extensions are left alone, and what others than
-- the owner have created in the schema.
revoke create on schema public from public;

revoke all on schema public from colophon_public, colophon_reader, colophon_editor, colophon_operator, colophon_signer;

grant usage on schema public to colophon_public, colophon_reader, colophon_operator;

-- The editor and the signer read no table, and no role writes another one than those below: changes are made by the
-- functions of a release, with the rights of the owner. By default everybody may call functions.
do $$
  declare
    object text;
  begin
    for object in
      select format('table %s', cast(oid as regclass))
      from pg_class
      where
        relnamespace = cast('public' as regnamespace)
        and relowner = cast(current_user as regrole)
        and relkind in ('r', 'v')
        and not exists (select from pg_depend where objid = pg_class.oid and deptype = 'e')
      union all
      select format('routine %s', cast(oid as regprocedure))
      from pg_proc
      where
        pronamespace = cast('public' as regnamespace)
        and proowner = cast(current_user as regrole)
        and not exists (select from pg_depend where objid = pg_proc.oid and deptype = 'e')
    loop
      execute format('revoke all on %s from public, colophon_public, colophon_reader', object);
      execute format('revoke all on %s from colophon_editor, colophon_operator, colophon_signer', object);
    end loop;
  end
$$;

-- What the website and administration show, and exports have. These tables hold unpublished contributors and other
-- counters, too, which the website's statements leave out: behind a row security policy PostgreSQL would use no trigram
-- index (`like` is not leakproof).
grant select on
  contributors, contributor_aliases, contributor_descriptions, contributor_links, contributor_relations
to colophon_public, colophon_reader, colophon_operator;

grant select on contributor_changes to colophon_public, colophon_reader;

grant select on counters to colophon_public, colophon_reader;

-- What only the website shows, and exports have.
grant select on
  publishers, publisher_aliases, publisher_descriptions, publisher_relations,
  series, series_aliases, series_contributors, series_descriptions, series_publishers, series_tags, tags, volumes
to colophon_public, colophon_operator;

-- By what the website finds contributors, too.
grant select on former_slugs to colophon_public;

-- What only administration shows. Of sessions it is whether a user has one, and nothing that tells or makes a token.
grant select on
  users, user_roles, roles, role_permissions, permissions, contributor_locks, user_locks
to colophon_reader;

grant select (user_id, expires_at, revoked_at) on refresh_tokens to colophon_reader;

-- What operators' functions select, and what exports have beside what the website shows.
grant select on changed_rows, changes, history, images_to_remove, imports, clients to colophon_operator;

-- Users whose changes are looked for.
grant select (id, username) on users to colophon_operator;

-- The tags that the edge was told to forget are deleted.
grant select, delete on stale_tags to colophon_operator;

grant select, insert, update (run, until) on invalidation_lease to colophon_operator;

grant select, insert, update (paths, last_at) on invalidations to colophon_operator;

grant execute on function
  default_sort_name(text, text), long_search_keys(bigint), name_key(text), grams(text), search_key(text),
  searched_grams(text), searched_patterns(text), sort_key(text), without_joiners(text)
to colophon_public, colophon_reader;

-- What only the list of series calls.
grant execute on function identity_key(text), long_series_search_keys(bigint) to colophon_public;

grant execute on function
  history_tables(), identity_key(text), name_key(text), without_joiners(text)
to colophon_operator;
