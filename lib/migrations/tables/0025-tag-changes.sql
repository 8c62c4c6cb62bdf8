-- Whatever changes what the public reads leaves the cache tags of that, whoever changes it. They are added behind each
-- statement, so a transaction that is rolled back, or a savepoint, leaves none.
create function add_stale_tags(tags text[]) returns void
  language plpgsql
  as $$
    declare
      present text[] = array(select tag from stale_tags where transaction = pg_current_xact_id());
      is_everything boolean = 'everything' = any(tags);
    begin
      if tags <@ present or 'everything' = any(present) then
        return;
      end if;
      if not is_everything and cardinality(present) + cardinality(tags) > 50 then
        is_everything = (select count(distinct tag) from unnest(present || tags) as tag) > 50;
      end if;
      if is_everything then
        delete from stale_tags where transaction = pg_current_xact_id();
        tags = array['everything'];
      end if;
      insert into stale_tags (tag) select unnest(tags) on conflict do nothing;
    end
  $$;

create function tag_everything() returns trigger
  language plpgsql security definer
  set search_path = public, pg_temp
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  as $$
    begin
      perform add_stale_tags(array['everything']);
      return null;
    end
  $$;

-- A contributor whom the public has seen, or sees now, if that changed something it sees. Records that name somebody
-- unpublished have the tag of lists. One id more than a transaction may have is as good as all.
create function tag_contributors() returns trigger
  language plpgsql security definer
  set search_path = public, pg_temp
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  as $$
    declare
      tags text[];
      published bigint[];
    begin
      if tg_op = 'INSERT' then
        tags = array(select 'contributor-' || id from added where public limit 51);
      elsif tg_op = 'DELETE' then
        tags = array(select 'contributor-' || id from removed where public limit 51);
      else
        tags = array(
          select distinct 'contributor-' || id
          from (
            select id, client_id, first_name, last_name, slug, gender, image from added where public
            union all
            select id, client_id, first_name, last_name, slug, gender, image from removed where public
          ) as state
          group by id, client_id, first_name, last_name, slug, gender, image
          having count(*) = 1
          limit 51
        );
        -- Others may have written what is theirs without tags, and have not committed it yet (is_being_published).
        published = array(select id from added where public except select id from removed where public);
        if published <> '{}' then
          perform from contributors where id = any(published) order by id for update;
        end if;
      end if;
      if cardinality(tags) > 0 then
        perform add_stale_tags(tags || text 'contributors');
      end if;
      return null;
    end
  $$;

-- Whether a contributor who is not public for this transaction may be published by another one at the same time. Its
-- readers would see what this one writes now, so that needs tags. Here nobody waits: whoever publishes waits for the lock
-- that this takes, or that a foreign key has taken. A transaction that keeps its first snapshot cannot know.
create function is_being_published(contributor bigint) returns boolean
  language plpgsql
  as $$
    begin
      if current_setting('transaction_isolation') <> 'read committed' then
        return true;
      end if;
      perform from contributors where id = contributor and not public for no key update skip locked;
      return not found;
    end
  $$;

create function tag_publishers() returns trigger
  language plpgsql security definer
  set search_path = public, pg_temp
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  as $$
    declare
      tags text[];
    begin
      if tg_op = 'INSERT' then
        tags = array(select 'publisher-' || id from added limit 51);
      elsif tg_op = 'DELETE' then
        tags = array(select 'publisher-' || id from removed limit 51);
      else
        tags = array(
          select distinct 'publisher-' || id
          from (
            select
              id, client_id, name, short_name, slug, country, website, headquarter, founding_date, image, image_source
            from added
            union all
            select
              id, client_id, name, short_name, slug, country, website, headquarter, founding_date, image, image_source
            from removed
          ) as state
          group by
            id, client_id, name, short_name, slug, country, website, headquarter, founding_date, image, image_source
          having count(*) = 1
          limit 51
        );
      end if;
      if cardinality(tags) > 0 then
        perform add_stale_tags(tags || text 'publishers');
      end if;
      return null;
    end
  $$;

-- What belongs to contributors, and the same for publishers, who are always public. Plans are kept, so owners are looked
-- up by their ids, however many rows the first statement had. Owners that are gone were tagged when they went.
do $do$
  declare
    kind text;
    is_public text;
    may_be_public text;
  begin
    foreach kind in array array['contributor', 'publisher'] loop
      is_public = case kind when 'contributor' then 'public' else 'true' end;
      -- The foreign key of what is inserted has taken a lock.
      may_be_public = case kind
        when 'contributor'
        then 'public
              or (tg_op <> ''INSERT'' or current_setting(''transaction_isolation'') <> ''read committed'')
              and is_being_published(id)'
        else 'true'
      end;

      -- The argument is the tag of lists that show what is changed, or search it.
      execute format(
        $create$
          create function tag_%1$s_elements() returns trigger
            language plpgsql security definer
            set search_path = public, pg_temp
            set plan_cache_mode = force_generic_plan
            set enable_seqscan = off
            as $$
              declare
                tags text[];
              begin
                if tg_op = 'INSERT' then
                  tags = array(
                    select '%1$s-' || owner
                    from (select distinct %1$s_id as owner from added) as element
                    where (select %3$s from %1$ss where id = owner)
                    limit 51
                  );
                elsif tg_op = 'DELETE' then
                  tags = array(
                    select '%1$s-' || owner
                    from (select distinct %1$s_id as owner from removed) as element
                    where (select %3$s from %1$ss where id = owner)
                    limit 51
                  );
                else
                  tags = array(
                    select '%1$s-' || owner
                    from (
                      select distinct owner
                      from (
                        select %1$s_id as owner, row(added.*) as element from added
                        union all
                        select %1$s_id, row(removed.*) from removed
                      ) as state
                      group by owner, element
                      having count(*) = 1
                    ) as element
                    where (select %3$s from %1$ss where id = owner)
                    limit 51
                  );
                end if;
                if cardinality(tags) > 0 then
                  perform add_stale_tags(case when tg_nargs = 0 then tags else tags || tg_argv[0] end);
                end if;
                return null;
              end
            $$
        $create$,
        kind, is_public, may_be_public
      );

      -- Both sides, if the one that shows the other is public. Fifty make 2,500 pairs.
      execute format(
        $create$
          create function tag_%1$s_relations() returns trigger
            language plpgsql security definer
            set search_path = public, pg_temp
            set plan_cache_mode = force_generic_plan
            set enable_seqscan = off
            as $$
              declare
                owners bigint[];
                others bigint[];
                tags text[];
              begin
                if tg_op = 'INSERT' then
                  select array_agg(%1$s_id), array_agg(relation_id) into owners, others from added;
                elsif tg_op = 'DELETE' then
                  select array_agg(%1$s_id), array_agg(relation_id) into owners, others from removed;
                else
                  select array_agg(owner), array_agg(other)
                  into owners, others
                  from (
                    select owner, other
                    from (
                      select %1$s_id as owner, relation_id as other, row(added.*) as relation from added
                      union all
                      select %1$s_id, relation_id, row(removed.*) from removed
                    ) as state
                    group by owner, other, relation
                    having count(*) = 1
                  ) as changed;
                end if;
                if owners is null then
                  return null;
                end if;
                tags = array(
                  select distinct '%1$s-' || side.id
                  from
                    (
                      select owner, other
                      from (select distinct owner, other from unnest(owners, others) as relation (owner, other)) as pair
                      where (select %3$s from %1$ss where id = owner)
                      limit 2501
                    ) as visible
                    cross join lateral (
                      values (owner), (case when (select %2$s from %1$ss where id = other) then other end)
                    ) as side (id)
                  where side.id is not null
                  limit 51
                );
                if cardinality(tags) > 0 then
                  perform add_stale_tags(tags);
                end if;
                return null;
              end
            $$
        $create$,
        kind, is_public, may_be_public
      );

      execute format(
        $create$
          create function tag_%1$s_series() returns trigger
            language plpgsql security definer
            set search_path = public, pg_temp
            set plan_cache_mode = force_generic_plan
            set enable_seqscan = off
            as $$
              declare
                is_changed boolean;
              begin
                if tg_op = 'INSERT' then
                  is_changed = exists (select from added where (select %3$s from %1$ss where id = %1$s_id));
                elsif tg_op = 'DELETE' then
                  is_changed = exists (select from removed where (select %3$s from %1$ss where id = %1$s_id));
                else
                  is_changed = exists (
                    select
                    from (
                      select maker
                      from (
                        select %1$s_id as maker, series_id from added
                        union all
                        select %1$s_id, series_id from removed
                      ) as state
                      group by maker, series_id
                      having count(*) = 1
                    ) as changed
                    where (select %3$s from %1$ss where id = maker)
                  );
                end if;
                if is_changed then
                  perform add_stale_tags(array['series']);
                end if;
                return null;
              end
            $$
        $create$,
        kind, is_public, may_be_public
      );
    end loop;
  end
$do$;

-- Series, and what hangs on them. Of a series' row the public does not see the keys for searching.
create function tag_series() returns trigger
  language plpgsql security definer
  set search_path = public, pg_temp
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  as $$
    declare
      is_changed boolean;
    begin
      if tg_op = 'INSERT' then
        is_changed = exists (select from added);
      elsif tg_op = 'DELETE' then
        is_changed = exists (select from removed);
      elsif tg_table_name = 'series' then
        is_changed = exists (
          select
          from (
            select id, client_id, name, slug, type, origin from added
            union all
            select id, client_id, name, slug, type, origin from removed
          ) as state
          group by id, client_id, name, slug, type, origin
          having count(*) = 1
        );
      else
        is_changed = exists (
          select
          from (select row(added.*) as element from added union all select row(removed.*) from removed) as state
          group by element
          having count(*) = 1
        );
      end if;
      if is_changed then
        perform add_stale_tags(array['series']);
      end if;
      return null;
    end
  $$;

-- All tables get their triggers at once. A migration that holds a lock and waits for another one may be in the way of a
-- change that takes them in the other order. So this one waits for its first lock only. When it does not get another one
-- at once, it begins again with that one.
do $$
  declare
    function_of constant jsonb = jsonb_object(array[
      array['contributors', 'tag_contributors()'],
      array['contributor_aliases', 'tag_contributor_elements(''contributors'')'],
      array['contributor_descriptions', 'tag_contributor_elements()'],
      array['contributor_links', 'tag_contributor_elements()'],
      array['contributor_relations', 'tag_contributor_relations()'],
      array['publishers', 'tag_publishers()'],
      array['publisher_aliases', 'tag_publisher_elements(''publishers'')'],
      array['publisher_descriptions', 'tag_publisher_elements()'],
      array['publisher_relations', 'tag_publisher_relations()'],
      array['series', 'tag_series()'],
      array['series_aliases', 'tag_series()'],
      array['series_contributors', 'tag_contributor_series()'],
      array['series_descriptions', 'tag_series()'],
      array['series_publishers', 'tag_publisher_series()'],
      array['series_tags', 'tag_series()'],
      array['tags', 'tag_series()'],
      array['volumes', 'tag_series()']
    ]);
    give_up_at constant timestamptz = clock_timestamp() + interval '15 s';
    first_table text = 'contributors';
    changed text;
    called text;
  begin
    loop
      begin
        changed = first_table;
        execute format('lock table %I in share row exclusive mode', changed);
        for changed in select jsonb_object_keys(function_of) loop
          execute format('lock table %I in share row exclusive mode nowait', changed);
        end loop;
        exit;
      exception when lock_not_available then
        if clock_timestamp() > give_up_at then
          raise;
        end if;
        first_table = changed;
      end;
    end loop;

    for changed, called in select * from jsonb_each_text(function_of) loop
      execute format(
        'create trigger stale_tags_added after insert on %I
           referencing new table as added for each statement execute function %s',
        changed, called
      );
      execute format(
        'create trigger stale_tags_changed after update on %I
           referencing old table as removed new table as added for each statement execute function %s',
        changed, called
      );
      execute format(
        'create trigger stale_tags_removed after delete on %I
           referencing old table as removed for each statement execute function %s',
        changed, called
      );
      execute format(
        'create trigger stale_tags_truncated after truncate on %I for each statement execute function tag_everything()',
        changed
      );
    end loop;
  end
$$;
