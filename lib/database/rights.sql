-- The rights of the service's two roles, granted again after every migration. No other role has any right, and no role
-- can read a new table until it is listed here. What others have created in the schema is left alone.
grant usage on schema public to colophon_public, colophon_admin;

revoke all on
  change_lock,
  changes,
  clients,
  contributor_aliases,
  contributor_descriptions,
  contributor_links,
  contributor_locks,
  contributor_relations,
  contributors,
  images_to_remove,
  migrations,
  permissions,
  publisher_aliases,
  publisher_descriptions,
  publisher_relations,
  publishers,
  refresh_tokens,
  releases,
  role_permissions,
  roles,
  series,
  series_aliases,
  series_contributors,
  series_descriptions,
  series_publishers,
  series_tags,
  tags,
  tallies,
  user_locks,
  user_roles,
  users,
  volumes
from public, colophon_public, colophon_admin;

-- What the website shows. These tables hold unpublished contributors and other counters, too, which the statements leave
-- out: behind a row security policy PostgreSQL would use no trigram index (`like` is not leakproof).
grant select on
  contributor_aliases,
  contributor_descriptions,
  contributor_links,
  contributor_relations,
  contributors,
  publisher_aliases,
  publisher_descriptions,
  publisher_relations,
  publishers,
  series,
  series_aliases,
  series_contributors,
  series_descriptions,
  series_publishers,
  series_tags,
  tags,
  tallies,
  volumes
to colophon_public, colophon_admin;

-- Administration reads everything, and writes only through the functions of a release.
grant select on
  changes,
  clients,
  contributor_locks,
  images_to_remove,
  migrations,
  permissions,
  refresh_tokens,
  releases,
  role_permissions,
  roles,
  user_locks,
  user_roles,
  users
to colophon_admin;

-- By default everybody may call functions and create temporary tables; both are revoked.
revoke all on function
  assign_slug(),
  containing(text),
  forget_role_tally(),
  give_default_role(),
  identity_key(text),
  name_key(text),
  pass_on_sort_keys(),
  slug_exists(text, text),
  take_sort_keys(),
  tally_contributors(),
  tally_role_users(),
  tally_rows(),
  without_joiners(text)
from public;

grant execute on function
  containing(text),
  identity_key(text),
  name_key(text),
  without_joiners(text)
to colophon_public, colophon_admin;

do $$
  declare
    routine record;
  begin
    execute format('revoke temporary on database %I from public', current_database());
    for routine in
      select cast(oid as regprocedure) as name, prosecdef as is_entry
      from pg_proc
      where pronamespace = cast(current_schema() as regnamespace)
    loop
      execute format('revoke all on function %s from public', routine.name);
      if routine.is_entry then
        execute format('grant execute on function %s to colophon_admin', routine.name);
      end if;
    end loop;
    execute format('grant usage on schema %I to colophon_admin', current_schema());
  end
$$;
