-- The tables of the lines of a catalogue, as imports write them.
-- Written by npm run statements.

-- Adds and edits clients, in the order of their lines: a later line may take what an earlier one gives up.
create function write_clients(lines import_line[], records jsonb) returns setof import_outcome
  language plpgsql as $$
  declare
    outcomes import_outcome[];
  begin
    with written as (
      insert into clients as stored (
        id, name
      )
      overriding system value
      select
        record.id, record.name
      from
        unnest(lines) as line
        cross join lateral (
          select (select stored from clients as stored where stored.id = line.id)
        ) as found (current)
        cross join lateral jsonb_populate_record(
          current,
          object || jsonb_build_object(
            'id', line.id
          )
        ) as record
      where record is distinct from current
      order by number
      on conflict (id) do update
      set
        name = excluded.name
      returning
        cast(null as bigint), 'clients', new.id, case when old.id is null then 'added' else 'changed' end,
        old.id, false, cast(null as text)
    )
    select coalesce(array_agg(cast(row(written.*) as import_outcome)), '{}') into outcomes from written;
    return query select * from unnest(outcomes);
  end
$$;

-- Makes publisher_aliases those of the lines; returns the owners whose publisher_aliases were others.
create function replace_publisher_aliases(lines import_line[], records jsonb) returns bigint[]
  language plpgsql as $$
  declare
    stored publisher_aliases[] = array(
      select element
      from publisher_aliases as element
      where publisher_id = any(array(
        select line.id from unnest(lines) as line where lists ? 'publisher_aliases'
      ))
      order by id
    );
    requested publisher_aliases[];
    changed bigint[];
  begin
    requested = array(
      select jsonb_populate_record(cast(null as publisher_aliases), element || jsonb_build_object(
        'publisher_id', line.id
      ))
      from
        unnest(lines) as line
        cross join lateral jsonb_array_elements(lists -> 'publisher_aliases')
          with ordinality as listed (element, position)
      order by number, position
    );
    changed = array(
      select publisher_id
      from (
        (
          select publisher_id, title, language from unnest(requested)
          except all
          select publisher_id, title, language from unnest(stored)
        )
        union all
        (
          select publisher_id, title, language from unnest(stored)
          except all
          select publisher_id, title, language from unnest(requested)
        )
      ) as different
      group by publisher_id
    );
    if changed <> '{}' then
      if stored <> '{}' then
        delete from publisher_aliases
        where
          publisher_id = any(changed)
          and id in (
            select id
            from (
              select *, row_number() over (
                partition by publisher_id, title, language order by id
              ) as copy
              from unnest(stored)
            ) as element
            where (publisher_id, title, language, copy) not in (
              select publisher_id, title, language, row_number() over same
              from unnest(requested)
              window same as (partition by publisher_id, title, language)
            )
          );
      end if;
      insert into publisher_aliases (publisher_id, title, language)
      select publisher_id, title, language
      from (
        select *, row_number() over (
          partition by publisher_id, title, language order by ordinality
        ) as copy
        from unnest(requested) with ordinality
      ) as element
      where (publisher_id, title, language, copy) not in (
        select publisher_id, title, language, row_number() over same
        from unnest(stored)
        window same as (partition by publisher_id, title, language)
      )
      order by ordinality;
    end if;
    return changed;
  end
$$;

-- Makes publisher_descriptions those of the lines; returns the owners whose publisher_descriptions were others.
create function replace_publisher_descriptions(lines import_line[], records jsonb) returns bigint[]
  language plpgsql as $$
  declare
    stored publisher_descriptions[] = array(
      select element
      from publisher_descriptions as element
      where publisher_id = any(array(
        select line.id from unnest(lines) as line where lists ? 'publisher_descriptions'
      ))
      order by id
    );
    requested publisher_descriptions[];
    changed bigint[];
  begin
    requested = array(
      select jsonb_populate_record(cast(null as publisher_descriptions), element || jsonb_build_object(
        'publisher_id', line.id
      ))
      from
        unnest(lines) as line
        cross join lateral jsonb_array_elements(lists -> 'publisher_descriptions')
          with ordinality as listed (element, position)
      order by number, position
    );
    changed = array(
      select publisher_id
      from (
        (
          select publisher_id, language, description, source from unnest(requested)
          except all
          select publisher_id, language, description, source from unnest(stored)
        )
        union all
        (
          select publisher_id, language, description, source from unnest(stored)
          except all
          select publisher_id, language, description, source from unnest(requested)
        )
      ) as different
      group by publisher_id
    );
    if changed <> '{}' then
      if stored <> '{}' then
        delete from publisher_descriptions
        where
          publisher_id = any(changed)
          and id in (
            select id
            from (
              select *, row_number() over (
                partition by publisher_id, language, description, source order by id
              ) as copy
              from unnest(stored)
            ) as element
            where (publisher_id, language, description, source, copy) not in (
              select publisher_id, language, description, source, row_number() over same
              from unnest(requested)
              window same as (partition by publisher_id, language, description, source)
            )
          );
      end if;
      insert into publisher_descriptions (publisher_id, language, description, source)
      select publisher_id, language, description, source
      from (
        select *, row_number() over (
          partition by publisher_id, language, description, source order by ordinality
        ) as copy
        from unnest(requested) with ordinality
      ) as element
      where (publisher_id, language, description, source, copy) not in (
        select publisher_id, language, description, source, row_number() over same
        from unnest(stored)
        window same as (partition by publisher_id, language, description, source)
      )
      order by ordinality;
    end if;
    return changed;
  end
$$;

-- Adds and edits publishers, in the order of their lines: a later line may take what an earlier one gives up.
create function write_publishers(lines import_line[], records jsonb) returns setof import_outcome
  language plpgsql as $$
  declare
    outcomes import_outcome[];
    listed text[] = array(select distinct jsonb_object_keys(lists) from unnest(lines));
    relisted bigint[] = '{}';
  begin
    with written as (
      insert into publishers as stored (
        id, external_id, slug, alias_keys, client_id, name, short_name, country, website, headquarter, founding_date,
        image, image_size, image_source
      )
      overriding system value
      select
        record.id, record.external_id, record.slug, record.alias_keys, record.client_id, record.name,
        record.short_name, record.country, record.website, record.headquarter, record.founding_date, record.image,
        record.image_size, record.image_source
      from
        unnest(lines) as line
        cross join lateral (
          select (select stored from publishers as stored where stored.id = line.id)
        ) as found (current)
        cross join lateral jsonb_populate_record(
          current,
          case when (current).id is null then '{}' || jsonb_build_object(
            'external_id', object ->> 'id',
            'slug', coalesce(named_slug(object ->> 'id'), made),
            'alias_keys', coalesce(
              (
                select string_agg(search_key(element ->> 'title'), chr(10) order by position)
                from jsonb_array_elements(lists -> 'publisher_aliases') with ordinality as alias (element, position)
              ),
              ''
            )
          ) else '{}' end || object || jsonb_build_object(
            'id', line.id,
            'client_id', case
              when object ? 'client_id' then record_id(records, 'clients', object ->> 'client_id', number)
              else (current).client_id
            end
          )
        ) as record
      where record is distinct from current
      order by number
      on conflict (id) do update
      set
        client_id = excluded.client_id, name = excluded.name, short_name = excluded.short_name,
        country = excluded.country, website = excluded.website, headquarter = excluded.headquarter,
        founding_date = excluded.founding_date, image = excluded.image, image_size = excluded.image_size,
        image_source = excluded.image_source
      returning
        cast(null as bigint), 'publishers', new.id, case when old.id is null then 'added' else 'changed' end,
        old.client_id, false, cast(null as text)
    )
    select coalesce(array_agg(cast(row(written.*) as import_outcome)), '{}') into outcomes from written;
    if 'publisher_aliases' = any(listed) then
      relisted = relisted || replace_publisher_aliases(lines, records);
    end if;
    if 'publisher_descriptions' = any(listed) then
      relisted = relisted || replace_publisher_descriptions(lines, records);
    end if;
    relisted = array(select unnest(relisted) except select id from unnest(outcomes));
    if relisted <> '{}' then
      outcomes = outcomes || array(
        select cast(row(null, 'publishers', id, 'changed', client_id, false, null) as import_outcome)
        from publishers
        where id = any(relisted)
      );
    end if;
    return query select * from unnest(outcomes);
  end
$$;

-- Adds relations. One that is there is not added again.
create function write_publisher_relations(lines import_line[], records jsonb) returns setof import_outcome
  language plpgsql as $$
  declare
    max bigint = (select listed.max from history_tables() as listed where table_name = 'publisher_relations');
    owners bigint[];
  begin
    with added as (
      insert into publisher_relations (publisher_id, relation_id, type)
      select publisher_id, relation_id, type
      from
        unnest(lines)
        cross join lateral jsonb_populate_record(cast(null as publisher_relations), object || jsonb_build_object(
          'publisher_id', record_id(records, 'publishers', object ->> 'publisher_id', number),
          'relation_id', record_id(records, 'publishers', object ->> 'relation_id', number)
        )) as relation
      where not exists (
        select
        from publisher_relations as stored
        where
          stored.publisher_id = relation.publisher_id
          and stored.relation_id = relation.relation_id
          and stored.type = relation.type
      )
      group by publisher_id, relation_id, type
      order by min(number)
      returning publisher_id
    )
    select coalesce(array_agg(publisher_id), '{}') into owners from added;
    if exists (
      select from publisher_relations where publisher_id = any(owners) group by publisher_id having count(*) > max
    ) then
      raise integrity_constraint_violation
        using message = format('The publisher would have more than %s relations', max);
    end if;
    return query
      select
        cast(null as bigint), 'publisher_relations', owner, 'added', cast(null as bigint), false, cast(null as text)
      from unnest(owners) as owner;
  end
$$;

-- Makes contributor_links those of the lines; returns the owners whose contributor_links were others.
create function replace_contributor_links(lines import_line[], records jsonb) returns bigint[]
  language plpgsql as $$
  declare
    stored contributor_links[] = array(
      select element
      from contributor_links as element
      where contributor_id = any(array(
        select line.id from unnest(lines) as line where lists ? 'contributor_links'
      ))
    );
    requested contributor_links[];
    changed bigint[];
  begin
    requested = array(
      select jsonb_populate_record(cast(null as contributor_links), element || jsonb_build_object(
        'contributor_id', line.id
      ))
      from
        unnest(lines) as line
        cross join lateral jsonb_array_elements(lists -> 'contributor_links')
          with ordinality as listed (element, position)
      order by number, position
    );
    changed = array(
      select contributor_id
      from (
        (
          select contributor_id, url, position from unnest(requested)
          except all
          select contributor_id, url, position from unnest(stored)
        )
        union all
        (
          select contributor_id, url, position from unnest(stored)
          except all
          select contributor_id, url, position from unnest(requested)
        )
      ) as different
      group by contributor_id
    );
    if changed <> '{}' then
      if stored <> '{}' then
        delete from contributor_links
        where
          contributor_id = any(changed)
          and (contributor_id, position) not in (select contributor_id, position from unnest(requested));
      end if;
      insert into contributor_links (contributor_id, url, position)
      select contributor_id, url, position from unnest(requested)
      except
      select contributor_id, url, position from unnest(stored)
      on conflict (contributor_id, position) do update
      set url = excluded.url;
    end if;
    return changed;
  end
$$;

-- Makes contributor_aliases those of the lines; returns the owners whose contributor_aliases were others.
create function replace_contributor_aliases(lines import_line[], records jsonb) returns bigint[]
  language plpgsql as $$
  declare
    stored contributor_aliases[] = array(
      select element
      from contributor_aliases as element
      where contributor_id = any(array(
        select line.id from unnest(lines) as line where lists ? 'contributor_aliases'
      ))
      order by id
    );
    requested contributor_aliases[];
    changed bigint[];
  begin
    requested = array(
      select jsonb_populate_record(cast(null as contributor_aliases), element || jsonb_build_object(
        'contributor_id', line.id
      ))
      from
        unnest(lines) as line
        cross join lateral jsonb_array_elements(lists -> 'contributor_aliases')
          with ordinality as listed (element, position)
      order by number, position
    );
    changed = array(
      select contributor_id
      from (
        (
          select contributor_id, name from unnest(requested)
          except all
          select contributor_id, name from unnest(stored)
        )
        union all
        (
          select contributor_id, name from unnest(stored)
          except all
          select contributor_id, name from unnest(requested)
        )
      ) as different
      group by contributor_id
    );
    if changed <> '{}' then
      if stored <> '{}' then
        delete from contributor_aliases
        where
          contributor_id = any(changed)
          and id in (
            select id
            from (
              select *, row_number() over (
                partition by contributor_id, name order by id
              ) as copy
              from unnest(stored)
            ) as element
            where (contributor_id, name, copy) not in (
              select contributor_id, name, row_number() over same
              from unnest(requested)
              window same as (partition by contributor_id, name)
            )
          );
      end if;
      insert into contributor_aliases (contributor_id, name)
      select contributor_id, name
      from (
        select *, row_number() over (
          partition by contributor_id, name order by ordinality
        ) as copy
        from unnest(requested) with ordinality
      ) as element
      where (contributor_id, name, copy) not in (
        select contributor_id, name, row_number() over same
        from unnest(stored)
        window same as (partition by contributor_id, name)
      )
      order by ordinality;
    end if;
    return changed;
  end
$$;

-- Makes contributor_descriptions those of the lines; returns the owners whose contributor_descriptions were others.
create function replace_contributor_descriptions(lines import_line[], records jsonb) returns bigint[]
  language plpgsql as $$
  declare
    stored contributor_descriptions[] = array(
      select element
      from contributor_descriptions as element
      where contributor_id = any(array(
        select line.id from unnest(lines) as line where lists ? 'contributor_descriptions'
      ))
      order by id
    );
    requested contributor_descriptions[];
    changed bigint[];
  begin
    requested = array(
      select jsonb_populate_record(cast(null as contributor_descriptions), element || jsonb_build_object(
        'contributor_id', line.id
      ))
      from
        unnest(lines) as line
        cross join lateral jsonb_array_elements(lists -> 'contributor_descriptions')
          with ordinality as listed (element, position)
      order by number, position
    );
    changed = array(
      select contributor_id
      from (
        (
          select contributor_id, language, description, source from unnest(requested)
          except all
          select contributor_id, language, description, source from unnest(stored)
        )
        union all
        (
          select contributor_id, language, description, source from unnest(stored)
          except all
          select contributor_id, language, description, source from unnest(requested)
        )
      ) as different
      group by contributor_id
    );
    if changed <> '{}' then
      if stored <> '{}' then
        delete from contributor_descriptions
        where
          contributor_id = any(changed)
          and id in (
            select id
            from (
              select *, row_number() over (
                partition by contributor_id, language, description, source order by id
              ) as copy
              from unnest(stored)
            ) as element
            where (contributor_id, language, description, source, copy) not in (
              select contributor_id, language, description, source, row_number() over same
              from unnest(requested)
              window same as (partition by contributor_id, language, description, source)
            )
          );
      end if;
      insert into contributor_descriptions (contributor_id, language, description, source)
      select contributor_id, language, description, source
      from (
        select *, row_number() over (
          partition by contributor_id, language, description, source order by ordinality
        ) as copy
        from unnest(requested) with ordinality
      ) as element
      where (contributor_id, language, description, source, copy) not in (
        select contributor_id, language, description, source, row_number() over same
        from unnest(stored)
        window same as (partition by contributor_id, language, description, source)
      )
      order by ordinality;
    end if;
    return changed;
  end
$$;

-- Adds and edits contributors, in the order of their lines: a later line may take what an earlier one gives up.
create function write_contributors(lines import_line[], records jsonb) returns setof import_outcome
  language plpgsql as $$
  declare
    outcomes import_outcome[];
    listed text[] = array(select distinct jsonb_object_keys(lists) from unnest(lines));
    relisted bigint[] = '{}';
  begin
    with written as (
      insert into contributors as stored (
        id, external_id, slug, alias_keys, client_id, public, first_name, last_name, disambiguation, sort_name,
        gender, type, image, image_size
      )
      overriding system value
      select
        record.id, record.external_id, record.slug, record.alias_keys, record.client_id, record.public,
        record.first_name, record.last_name, record.disambiguation, record.sort_name, record.gender, record.type,
        record.image, record.image_size
      from
        unnest(lines) as line
        cross join lateral (
          select (select stored from contributors as stored where stored.id = line.id)
        ) as found (current)
        cross join lateral jsonb_populate_record(
          current,
          case when (current).id is null then '{"public":false,"disambiguation":""}' || jsonb_build_object(
            'external_id', object ->> 'id',
            'slug', coalesce(named_slug(object ->> 'id'), made),
            'alias_keys', coalesce(
              (
                select string_agg(search_key(element ->> 'name'), chr(10) order by position)
                from jsonb_array_elements(lists -> 'contributor_aliases') with ordinality as alias (element, position)
              ),
              ''
            )
          ) else '{}' end || object || jsonb_build_object(
            'id', line.id,
            'client_id', case
              when object ? 'client_id' then record_id(records, 'clients', object ->> 'client_id', number)
              else (current).client_id
            end
          )
        ) as named
        cross join lateral jsonb_populate_record(
          named,
          case
            when named.sort_name = default_sort_name(first_name, last_name)
            then jsonb_build_object('sort_name', null)
          end
        ) as record
      where record is distinct from current
      order by number
      on conflict (id) do update
      set
        client_id = excluded.client_id, public = excluded.public, first_name = excluded.first_name,
        last_name = excluded.last_name, disambiguation = excluded.disambiguation, sort_name = excluded.sort_name,
        gender = excluded.gender, type = excluded.type, image = excluded.image, image_size = excluded.image_size,
        version = stored.version + 1
      returning
        cast(null as bigint), 'contributors', new.id, case when old.id is null then 'added' else 'changed' end,
        old.client_id, new.public and old.public is not true, cast(null as text)
    )
    select coalesce(array_agg(cast(row(written.*) as import_outcome)), '{}') into outcomes from written;
    if 'contributor_links' = any(listed) then
      relisted = relisted || replace_contributor_links(lines, records);
    end if;
    if 'contributor_aliases' = any(listed) then
      relisted = relisted || replace_contributor_aliases(lines, records);
    end if;
    if 'contributor_descriptions' = any(listed) then
      relisted = relisted || replace_contributor_descriptions(lines, records);
    end if;
    relisted = array(select unnest(relisted) except select id from unnest(outcomes));
    if relisted <> '{}' then
      update contributors set version = version + 1 where id = any(relisted);
      outcomes = outcomes || array(
        select cast(row(null, 'contributors', id, 'changed', client_id, false, null) as import_outcome)
        from contributors
        where id = any(relisted)
      );
    end if;
    return query select * from unnest(outcomes);
  end
$$;

-- Adds relations. One that is there is not added again.
create function write_contributor_relations(lines import_line[], records jsonb) returns setof import_outcome
  language plpgsql as $$
  declare
    max bigint = (select listed.max from history_tables() as listed where table_name = 'contributor_relations');
    owners bigint[];
  begin
    with added as (
      insert into contributor_relations (contributor_id, relation_id, relation_type)
      select contributor_id, relation_id, relation_type
      from
        unnest(lines)
        cross join lateral jsonb_populate_record(cast(null as contributor_relations), object || jsonb_build_object(
          'contributor_id', record_id(records, 'contributors', object ->> 'contributor_id', number),
          'relation_id', record_id(records, 'contributors', object ->> 'relation_id', number)
        )) as relation
      where not exists (
        select
        from contributor_relations as stored
        where
          stored.contributor_id = relation.contributor_id
          and stored.relation_id = relation.relation_id
          and stored.relation_type = relation.relation_type
      )
      group by contributor_id, relation_id, relation_type
      order by min(number)
      returning contributor_id
    )
    select coalesce(array_agg(contributor_id), '{}') into owners from added;
    if exists (
      select from contributor_relations where contributor_id = any(owners) group by contributor_id having count(*) > max
    ) then
      raise integrity_constraint_violation
        using message = format('The contributor would have more than %s relations', max);
    end if;
    update contributors
    set version = version + number
    from (select owner, count(*) from unnest(owners) as owner group by owner) as added (owner, number)
    where id = owner;
    return query
      select
        cast(null as bigint), 'contributor_relations', owner, 'added', cast(null as bigint), false, cast(null as text)
      from unnest(owners) as owner;
  end
$$;

-- Makes series_tags those of the lines; returns the owners whose series_tags were others.
create function replace_series_tags(lines import_line[], records jsonb) returns bigint[]
  language plpgsql as $$
  declare
    stored series_tags[] = array(
      select element
      from series_tags as element
      where series_id = any(array(
        select line.id from unnest(lines) as line where lists ? 'series_tags'
      ))
    );
    requested series_tags[];
    changed bigint[];
  begin
    insert into tags (name)
    select element ->> 'tag_id'
    from
      unnest(lines)
      cross join lateral jsonb_array_elements(lists -> 'series_tags')
        with ordinality as listed (element, position)
    where not exists (select from tags where identity_key(name) = identity_key(element ->> 'tag_id'))
    order by number, position
    on conflict do nothing;
    requested = array(
      select jsonb_populate_record(cast(null as series_tags), element || jsonb_build_object(
        'series_id', line.id,
        'tag_id', (select tags.id from tags where identity_key(name) = identity_key(element ->> 'tag_id'))
      ))
      from
        unnest(lines) as line
        cross join lateral jsonb_array_elements(lists -> 'series_tags')
          with ordinality as listed (element, position)
      order by number, position
    );
    changed = array(
      select series_id
      from (
        (
          select series_id, tag_id from unnest(requested)
          except all
          select series_id, tag_id from unnest(stored)
        )
        union all
        (
          select series_id, tag_id from unnest(stored)
          except all
          select series_id, tag_id from unnest(requested)
        )
      ) as different
      group by series_id
    );
    if changed <> '{}' then
      if stored <> '{}' then
        delete from series_tags
        where
          series_id = any(changed)
          and (series_id, tag_id) not in (select series_id, tag_id from unnest(requested));
      end if;
      insert into series_tags (series_id, tag_id)
      select series_id, tag_id from unnest(requested)
      except
      select series_id, tag_id from unnest(stored);
    end if;
    return changed;
  end
$$;

-- Makes series_aliases those of the lines; returns the owners whose series_aliases were others.
create function replace_series_aliases(lines import_line[], records jsonb) returns bigint[]
  language plpgsql as $$
  declare
    stored series_aliases[] = array(
      select element
      from series_aliases as element
      where series_id = any(array(
        select line.id from unnest(lines) as line where lists ? 'series_aliases'
      ))
      order by id
    );
    requested series_aliases[];
    changed bigint[];
  begin
    requested = array(
      select jsonb_populate_record(cast(null as series_aliases), element || jsonb_build_object(
        'series_id', line.id
      ))
      from
        unnest(lines) as line
        cross join lateral jsonb_array_elements(lists -> 'series_aliases')
          with ordinality as listed (element, position)
      order by number, position
    );
    changed = array(
      select series_id
      from (
        (
          select series_id, name, language from unnest(requested)
          except all
          select series_id, name, language from unnest(stored)
        )
        union all
        (
          select series_id, name, language from unnest(stored)
          except all
          select series_id, name, language from unnest(requested)
        )
      ) as different
      group by series_id
    );
    if changed <> '{}' then
      if stored <> '{}' then
        delete from series_aliases
        where
          series_id = any(changed)
          and id in (
            select id
            from (
              select *, row_number() over (
                partition by series_id, name, language order by id
              ) as copy
              from unnest(stored)
            ) as element
            where (series_id, name, language, copy) not in (
              select series_id, name, language, row_number() over same
              from unnest(requested)
              window same as (partition by series_id, name, language)
            )
          );
      end if;
      insert into series_aliases (series_id, name, language)
      select series_id, name, language
      from (
        select *, row_number() over (
          partition by series_id, name, language order by ordinality
        ) as copy
        from unnest(requested) with ordinality
      ) as element
      where (series_id, name, language, copy) not in (
        select series_id, name, language, row_number() over same
        from unnest(stored)
        window same as (partition by series_id, name, language)
      )
      order by ordinality;
    end if;
    return changed;
  end
$$;

-- Makes series_descriptions those of the lines; returns the owners whose series_descriptions were others.
create function replace_series_descriptions(lines import_line[], records jsonb) returns bigint[]
  language plpgsql as $$
  declare
    stored series_descriptions[] = array(
      select element
      from series_descriptions as element
      where series_id = any(array(
        select line.id from unnest(lines) as line where lists ? 'series_descriptions'
      ))
      order by id
    );
    requested series_descriptions[];
    changed bigint[];
  begin
    requested = array(
      select jsonb_populate_record(cast(null as series_descriptions), element || jsonb_build_object(
        'series_id', line.id
      ))
      from
        unnest(lines) as line
        cross join lateral jsonb_array_elements(lists -> 'series_descriptions')
          with ordinality as listed (element, position)
      order by number, position
    );
    changed = array(
      select series_id
      from (
        (
          select series_id, language, description from unnest(requested)
          except all
          select series_id, language, description from unnest(stored)
        )
        union all
        (
          select series_id, language, description from unnest(stored)
          except all
          select series_id, language, description from unnest(requested)
        )
      ) as different
      group by series_id
    );
    if changed <> '{}' then
      if stored <> '{}' then
        delete from series_descriptions
        where
          series_id = any(changed)
          and id in (
            select id
            from (
              select *, row_number() over (
                partition by series_id, language, description order by id
              ) as copy
              from unnest(stored)
            ) as element
            where (series_id, language, description, copy) not in (
              select series_id, language, description, row_number() over same
              from unnest(requested)
              window same as (partition by series_id, language, description)
            )
          );
      end if;
      insert into series_descriptions (series_id, language, description)
      select series_id, language, description
      from (
        select *, row_number() over (
          partition by series_id, language, description order by ordinality
        ) as copy
        from unnest(requested) with ordinality
      ) as element
      where (series_id, language, description, copy) not in (
        select series_id, language, description, row_number() over same
        from unnest(stored)
        window same as (partition by series_id, language, description)
      )
      order by ordinality;
    end if;
    return changed;
  end
$$;

-- Makes volumes those of the lines; returns the owners whose volumes were others.
create function replace_volumes(lines import_line[], records jsonb) returns bigint[]
  language plpgsql as $$
  declare
    stored volumes[] = array(
      select element
      from volumes as element
      where series_id = any(array(
        select line.id from unnest(lines) as line where lists ? 'volumes'
      ))
    );
    requested volumes[];
    changed bigint[];
  begin
    requested = array(
      select jsonb_populate_record(cast(null as volumes), element || jsonb_build_object(
        'series_id', line.id
      ))
      from
        unnest(lines) as line
        cross join lateral jsonb_array_elements(lists -> 'volumes')
          with ordinality as listed (element, position)
      order by number, position
    );
    changed = array(
      select series_id
      from (
        (
          select series_id, number, cover, aspect_ratio, nsfw, nsfw18 from unnest(requested)
          except all
          select series_id, number, cover, aspect_ratio, nsfw, nsfw18 from unnest(stored)
        )
        union all
        (
          select series_id, number, cover, aspect_ratio, nsfw, nsfw18 from unnest(stored)
          except all
          select series_id, number, cover, aspect_ratio, nsfw, nsfw18 from unnest(requested)
        )
      ) as different
      group by series_id
    );
    if changed <> '{}' then
      if stored <> '{}' then
        delete from volumes
        where
          series_id = any(changed)
          and (series_id, number) not in (select series_id, number from unnest(requested));
      end if;
      insert into volumes (series_id, number, cover, aspect_ratio, nsfw, nsfw18)
      select series_id, number, cover, aspect_ratio, nsfw, nsfw18 from unnest(requested)
      except
      select series_id, number, cover, aspect_ratio, nsfw, nsfw18 from unnest(stored)
      on conflict (series_id, number) do update
      set cover = excluded.cover, aspect_ratio = excluded.aspect_ratio, nsfw = excluded.nsfw, nsfw18 = excluded.nsfw18;
    end if;
    return changed;
  end
$$;

-- Makes series_contributors those of the lines; returns the owners whose series_contributors were others.
create function replace_series_contributors(lines import_line[], records jsonb) returns bigint[]
  language plpgsql as $$
  declare
    stored series_contributors[] = array(
      select element
      from series_contributors as element
      where series_id = any(array(
        select line.id from unnest(lines) as line where lists ? 'series_contributors'
      ))
    );
    requested series_contributors[];
    changed bigint[];
  begin
    requested = array(
      select jsonb_populate_record(cast(null as series_contributors), element || jsonb_build_object(
        'series_id', line.id,
        'contributor_id', record_id(records, 'contributors', element ->> 'contributor_id', number)
      ))
      from
        unnest(lines) as line
        cross join lateral jsonb_array_elements(lists -> 'series_contributors')
          with ordinality as listed (element, position)
      order by number, position
    );
    changed = array(
      select series_id
      from (
        (
          select series_id, contributor_id, role from unnest(requested)
          except all
          select series_id, contributor_id, role from unnest(stored)
        )
        union all
        (
          select series_id, contributor_id, role from unnest(stored)
          except all
          select series_id, contributor_id, role from unnest(requested)
        )
      ) as different
      group by series_id
    );
    if changed <> '{}' then
      if stored <> '{}' then
        delete from series_contributors
        where
          series_id = any(changed)
          and (series_id, contributor_id) not in (select series_id, contributor_id from unnest(requested));
      end if;
      insert into series_contributors (series_id, contributor_id, role)
      select series_id, contributor_id, role from unnest(requested)
      except
      select series_id, contributor_id, role from unnest(stored)
      on conflict (series_id, contributor_id) do update
      set role = excluded.role;
    end if;
    return changed;
  end
$$;

-- Makes series_publishers those of the lines; returns the owners whose series_publishers were others.
create function replace_series_publishers(lines import_line[], records jsonb) returns bigint[]
  language plpgsql as $$
  declare
    stored series_publishers[] = array(
      select element
      from series_publishers as element
      where series_id = any(array(
        select line.id from unnest(lines) as line where lists ? 'series_publishers'
      ))
    );
    requested series_publishers[];
    changed bigint[];
  begin
    requested = array(
      select jsonb_populate_record(cast(null as series_publishers), element || jsonb_build_object(
        'series_id', line.id,
        'publisher_id', record_id(records, 'publishers', element ->> 'publisher_id', number)
      ))
      from
        unnest(lines) as line
        cross join lateral jsonb_array_elements(lists -> 'series_publishers')
          with ordinality as listed (element, position)
      order by number, position
    );
    changed = array(
      select series_id
      from (
        (
          select series_id, publisher_id from unnest(requested)
          except all
          select series_id, publisher_id from unnest(stored)
        )
        union all
        (
          select series_id, publisher_id from unnest(stored)
          except all
          select series_id, publisher_id from unnest(requested)
        )
      ) as different
      group by series_id
    );
    if changed <> '{}' then
      if stored <> '{}' then
        delete from series_publishers
        where
          series_id = any(changed)
          and (series_id, publisher_id) not in (select series_id, publisher_id from unnest(requested));
      end if;
      insert into series_publishers (series_id, publisher_id)
      select series_id, publisher_id from unnest(requested)
      except
      select series_id, publisher_id from unnest(stored);
    end if;
    return changed;
  end
$$;

-- Adds and edits series, in the order of their lines: a later line may take what an earlier one gives up.
create function write_series(lines import_line[], records jsonb) returns setof import_outcome
  language plpgsql as $$
  declare
    outcomes import_outcome[];
    listed text[] = array(select distinct jsonb_object_keys(lists) from unnest(lines));
    relisted bigint[] = '{}';
  begin
    with written as (
      insert into series as stored (
        id, external_id, slug, alias_keys, client_id, name, type, origin
      )
      overriding system value
      select
        record.id, record.external_id, record.slug, record.alias_keys, record.client_id, record.name, record.type,
        record.origin
      from
        unnest(lines) as line
        cross join lateral (
          select (select stored from series as stored where stored.id = line.id)
        ) as found (current)
        cross join lateral jsonb_populate_record(
          current,
          case when (current).id is null then '{"type":"","origin":""}' || jsonb_build_object(
            'external_id', object ->> 'id',
            'slug', coalesce(named_slug(object ->> 'id'), made),
            'alias_keys', coalesce(
              (
                select string_agg(search_key(element ->> 'name'), chr(10) order by position)
                from jsonb_array_elements(lists -> 'series_aliases') with ordinality as alias (element, position)
              ),
              ''
            )
          ) else '{}' end || object || jsonb_build_object(
            'id', line.id,
            'client_id', case
              when object ? 'client_id' then record_id(records, 'clients', object ->> 'client_id', number)
              else (current).client_id
            end
          )
        ) as record
      where record is distinct from current
      order by number
      on conflict (id) do update
      set
        client_id = excluded.client_id, name = excluded.name, type = excluded.type, origin = excluded.origin
      returning
        cast(null as bigint), 'series', new.id, case when old.id is null then 'added' else 'changed' end,
        old.client_id, false, cast(null as text)
    )
    select coalesce(array_agg(cast(row(written.*) as import_outcome)), '{}') into outcomes from written;
    if 'series_tags' = any(listed) then
      relisted = relisted || replace_series_tags(lines, records);
    end if;
    if 'series_aliases' = any(listed) then
      relisted = relisted || replace_series_aliases(lines, records);
    end if;
    if 'series_descriptions' = any(listed) then
      relisted = relisted || replace_series_descriptions(lines, records);
    end if;
    if 'volumes' = any(listed) then
      relisted = relisted || replace_volumes(lines, records);
    end if;
    if 'series_contributors' = any(listed) then
      relisted = relisted || replace_series_contributors(lines, records);
    end if;
    if 'series_publishers' = any(listed) then
      relisted = relisted || replace_series_publishers(lines, records);
    end if;
    relisted = array(select unnest(relisted) except select id from unnest(outcomes));
    if relisted <> '{}' then
      outcomes = outcomes || array(
        select cast(row(null, 'series', id, 'changed', client_id, false, null) as import_outcome)
        from series
        where id = any(relisted)
      );
    end if;
    return query select * from unnest(outcomes);
  end
$$;

-- Writes lines as if each could be written. Records come before what references them.
create function write_lines(lines import_line[], records jsonb) returns setof import_outcome language plpgsql as $$
  declare
    targets text[] = array(select distinct table_name from unnest(lines));
  begin
    if 'clients' = any(targets) then
      return query
        select * from write_clients(lines_about('clients', lines, records), records);
    end if;
    if 'publishers' = any(targets) then
      return query
        select * from write_publishers(lines_about('publishers', lines, records), records);
    end if;
    if 'publisher_relations' = any(targets) then
      return query
        select * from write_publisher_relations(lines_about('publisher_relations', lines, records), records);
    end if;
    if 'contributors' = any(targets) then
      return query
        select * from write_contributors(lines_about('contributors', lines, records), records);
    end if;
    if 'contributor_relations' = any(targets) then
      return query
        select * from write_contributor_relations(lines_about('contributor_relations', lines, records), records);
    end if;
    if 'series' = any(targets) then
      return query
        select * from write_series(lines_about('series', lines, records), records);
    end if;
    perform expect_slugs(lines, records);
  end
$$;
