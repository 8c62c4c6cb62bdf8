-- The rights of the service's two roles, granted again after every migration. No other role has any right, and the public
-- role cannot read a new table until it is listed here.
grant usage on schema public to colophon_public, colophon_admin;

revoke all on all tables in schema public from public, colophon_public, colophon_admin;

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
to colophon_public;

-- Administration reads everything, and writes only through the functions of a release.
grant select on all tables in schema public to colophon_admin;

-- By default everybody may call functions and create temporary tables; both are revoked. Functions of an extension belong
-- to its owner and are left alone.
do $$
  declare
    routine record;
  begin
    execute format('revoke temporary on database %I from public', current_database());
    for routine in
      select cast(oid as regprocedure) as name, prosecdef as is_entry
      from pg_proc
      where
        pronamespace in (cast(current_schema() as regnamespace), cast('public' as regnamespace))
        and not exists (
          select from pg_depend where classid = cast('pg_proc' as regclass) and objid = pg_proc.oid and deptype = 'e'
        )
    loop
      execute format('revoke all on function %s from public', routine.name);
      if routine.is_entry then
        execute format('grant execute on function %s to colophon_admin', routine.name);
      end if;
    end loop;
    execute format('grant usage on schema %I to colophon_admin', current_schema());
  end
$$;

grant execute on function name_key, containing, identity_key to colophon_public, colophon_admin;
