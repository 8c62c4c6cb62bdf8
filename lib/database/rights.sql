-- Whom the service's statements run as, and what these roles may do; said anew after every migration. Nobody else may do
-- anything, and a new table is closed to the public until it is named here.
grant usage on schema public to colophon_public, colophon_admin;

revoke all on all tables in schema public from public, colophon_public, colophon_admin;

-- What the website shows. Unpublished contributors and all tallies are among it: the statements leave them out, since
-- PostgreSQL uses no index of trigrams behind a policy for rows (`like` is not leakproof).
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
to colophon_public;

-- Administration reads everything, and writes nothing but by the functions of a release.
grant select on all tables in schema public to colophon_admin;

-- Everybody may call functions and make temporary tables unless that is taken away. What comes with an extension is
-- whose the extension is.
do $$
  declare
    called record;
  begin
    execute format('revoke temporary on database %I from public', current_database());
    for called in
      select cast(oid as regprocedure) as name, prosecdef as is_entry
      from pg_proc
      where
        pronamespace in (cast(current_schema() as regnamespace), cast('public' as regnamespace))
        and not exists (
          select from pg_depend where classid = cast('pg_proc' as regclass) and objid = pg_proc.oid and deptype = 'e'
        )
    loop
      execute format('revoke all on function %s from public', called.name);
      if called.is_entry then
        execute format('grant execute on function %s to colophon_admin', called.name);
      end if;
    end loop;
    execute format('grant usage on schema %I to colophon_admin', current_schema());
  end
$$;

grant execute on function name_key, containing, identity_key to colophon_public, colophon_admin;
