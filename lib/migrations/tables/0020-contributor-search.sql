-- A word is looked for in the name and the aliases at once: in one key, by one index, without a join. Readers go on until
-- the old indexes go; whoever writes contributors or aliases waits. With an alias for each fifth of a million
-- contributors it takes some 30 seconds.
lock table contributors in exclusive mode;

-- After aliases were added, changed or removed: their keys in the rows of those whose they are. The trigger's arguments
-- are the table of these records, the column with their ids, and the column of the names. Of two that change aliases of
-- the same record at once the second waits here, and then sees what the first one did.
create function keep_alias_keys() returns trigger
  language plpgsql
  as $$
    declare
      ids bigint[] = '{}';
    begin
      if tg_op <> 'INSERT' then
        ids = array(select cast(to_jsonb(removed) ->> tg_argv[1] as bigint) from removed);
      end if;
      if tg_op <> 'DELETE' then
        ids = ids || array(select cast(to_jsonb(added) ->> tg_argv[1] as bigint) from added);
      end if;
      if cardinality(ids) = 0 then
        return null;
      end if;
      execute format('select from %I where id = any($1) order by id for no key update', tg_argv[0]) using ids;
      execute format(
        $update$
          update %1$I as record
          set alias_keys = latest.keys%5$s
          from (
            select owner.id, coalesce(string_agg(name_key(%3$I), chr(10) order by alias.id), '') as keys
            from (select distinct unnest($1) as id) as owner left join %4$I as alias on alias.%2$I = owner.id
            group by owner.id
          ) as latest
          where record.id = latest.id and record.alias_keys <> latest.keys
        $update$,
        tg_argv[0], tg_argv[1], tg_argv[2], tg_table_name,
        -- A row of a B-tree has room for 2.7 kB, of which the longest name takes 2.3 kB.
        case tg_argv[0]
          when 'contributors'
          then ', short_alias_keys = case when octet_length(latest.keys) <= 200 then latest.keys end'
        end
      ) using ids;
      return null;
    end
  $$;

create trigger keep_alias_keys_added after insert on contributor_aliases
  referencing new table as added
  for each statement execute function keep_alias_keys('contributors', 'contributor_id', 'name');

create trigger keep_alias_keys_changed after update on contributor_aliases
  referencing old table as removed new table as added
  for each statement execute function keep_alias_keys('contributors', 'contributor_id', 'name');

create trigger keep_alias_keys_removed after delete on contributor_aliases
  referencing old table as removed
  for each statement execute function keep_alias_keys('contributors', 'contributor_id', 'name');

-- The few that are too long for an index. The cost says how seldom this is called, else PostgreSQL would read the table.
create function long_alias_keys(contributor bigint) returns text
  language sql stable parallel safe cost 1
  return (select alias_keys from contributors where id = contributor);

-- The trigger does it, in parts that each end in time.
update contributor_aliases set name = name where contributor_id % 8 = 0;

update contributor_aliases set name = name where contributor_id % 8 = 1;

update contributor_aliases set name = name where contributor_id % 8 = 2;

update contributor_aliases set name = name where contributor_id % 8 = 3;

update contributor_aliases set name = name where contributor_id % 8 = 4;

update contributor_aliases set name = name where contributor_id % 8 = 5;

update contributor_aliases set name = name where contributor_id % 8 = 6;

update contributor_aliases set name = name where contributor_id % 8 = 7;

create index contributors_by_name_or_alias on contributors (scope, name_key, id) include (short_alias_keys);

create index public_contributors_by_name_or_alias on contributors (scope, name_key, id) include (short_alias_keys)
  where public;

create index contributors_by_trigrams on contributors
  using gin ((name_key || chr(10) || alias_keys) gin_trgm_ops);

analyze contributors;

drop index contributors_by_name, public_contributors_by_name, contributors_by_trigram;

alter index contributors_by_name_or_alias rename to contributors_by_name;

alter index public_contributors_by_name_or_alias rename to public_contributors_by_name;

alter index contributors_by_trigrams rename to contributors_by_trigram;
