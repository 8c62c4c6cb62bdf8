-- Why the contributors cannot become one, or null. All have the same client, or none: a client must neither see what is
-- another's, nor lose what it shares with others.
create function merge_error(kept_id bigint, merged_ids bigint[]) returns text language sql stable as $$
  select case
    when merged.id is null then format('Contributor %s does not exist', requested.id)
    else format(
      'Contributor %s %s, but contributor %s %s',
      kept_id, coalesce('belongs to client ' || kept.client_id, 'is shared by all clients'),
      merged.id, coalesce('belongs to client ' || merged.client_id, 'is shared by all clients')
    )
  end
  from
    unnest(kept_id || merged_ids) with ordinality as requested (id, position)
    left join contributors as merged on merged.id = requested.id
    left join contributors as kept on kept.id = kept_id
  where merged.id is null or merged.scope <> kept.scope
  order by position
  limit 1
$$;

-- The first name that is too long for an alias, as a sentence, or null. The API counts units of UTF-16.
create function long_alias(aliases text[], length_max integer) returns text language sql stable as $$
  select format(
    'The alias "%s…" would have %s characters, and can have %s', left(alias, 30), units, length_max
  )
  from
    unnest(aliases) as alias
    cross join lateral (
      select char_length(alias) + regexp_count(alias, '[\U00010000-\U0010FFFF]')
    ) as counted (units)
  where units > length_max
  limit 1
$$;

-- Who becomes visible by it, in sentences: their names become aliases of somebody who is published.
create function published_names(kept contributors, merged_ids bigint[]) returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(
    format(
      'The name %s, which is not published, becomes an alias of contributor %s, who is',
      full_name(contributors), kept.id
    )
    order by array_position(merged_ids, id)
  ), '[]')
  from contributors
  where id = any(merged_ids) and kept.public and not public
$$;

-- Which of their values are lost, in sentences. A disambiguation and a sort name describe one name, and the kept one
-- keeps its own.
create function lost_values(kept contributors, merged_ids bigint[]) returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(
    format('The %s "%s" of contributor %s is lost: contributor %s keeps its own', field, value, id, kept.id)
    order by position, field
  ), '[]')
  from
    unnest(merged_ids) with ordinality as merged (id, position)
    join contributors using (id)
    cross join lateral (
      values
        ('disambiguation', nullif(disambiguation, ''), kept.disambiguation),
        ('sort name', sort_name, kept.sort_name)
    ) as compared (field, value, kept_value)
  where value is not null and value is distinct from kept_value
$$;

-- What the kept one gets of fields that it has not. An external id that says a slug stays with that.
create function filled_fields(kept contributors, merged_ids bigint[]) returns jsonb language sql stable as $$
  select coalesce(jsonb_object_agg(name, value), '{}')
  from (
    select distinct on (name) name, value
    from
      unnest(merged_ids) with ordinality as merged (id, position)
      join contributors using (id)
      cross join lateral (
        values
          ('gender', gender), ('type', type), ('image', image),
          ('external_id', case when named_slug(external_id) is null then external_id end)
      ) as field (name, value)
    where value is not null and to_jsonb(kept) ->> name is null
    order by name, position
  ) as first
$$;

-- ops-merge-contributors. What the merged ones have gets another owner; what is left goes with them. Of rows that are
-- the same, that of the contributor who comes first in the request moves. Slugs and external ids find the kept one.
-- The result has what the kept one gets, of series those that it was not in, and warnings: which unpublished names
-- become visible, and which values are lost.
create function merge_contributors(request request) returns outcome language plpgsql as $$
  declare
    kept_id bigint = request.input ->> 'keep';
    merged_ids bigint[] = (select merge from json_to_record(request.input) as input (merge bigint[]));
    everybody bigint[] = kept_id || merged_ids;
    kept contributors;
    merged jsonb;
    filled jsonb;
    filled_size text;
    warnings jsonb;
    aliases text[];
    links text[];
    languages text[];
    relations integer;
    others bigint[];
    series integer;
    error text;
    result jsonb;
  begin
    perform from contributors where id = any(everybody) order by id for update;
    error = merge_error(kept_id, merged_ids);
    if error is not null then
      return refused(400, error);
    end if;
    select * into kept from contributors where id = kept_id;
    filled = filled_fields(kept, merged_ids);
    filled_size = (select image_size from contributors where id = any(merged_ids) and image = filled ->> 'image');
    warnings = published_names(kept, merged_ids) || lost_values(kept, merged_ids);
    select
      jsonb_agg(jsonb_build_object('id', id, 'name', full_name(contributors), 'slug', slug) order by position)
    into merged
    from unnest(merged_ids) with ordinality as person (id, position) join contributors using (id);

    insert into contributor_aliases (contributor_id, name)
    select id, full_name(contributors) from contributors where id = any(merged_ids);
    with gained as (
      update contributor_aliases as alias
      set contributor_id = kept_id
      from (
        select distinct on (identity_key(name)) id, position
        from
          unnest(everybody) with ordinality as person (contributor_id, position)
          join contributor_aliases using (contributor_id)
        order by identity_key(name), position, id
      ) as first
      where alias.id = first.id and position > 1 and identity_key(name) <> identity_key(full_name(kept))
      returning name, position, alias.id
    )
    select coalesce(array_agg(name order by position, id), '{}') into aliases from gained;

    with gained as (
      update contributor_links as link
      set contributor_id = kept_id, position = last_position + number
      from
        (
          select contributor_id, position, row_number() over (order by person_position, position) as number
          from (
            select distinct on (url) contributor_id, position, person_position
            from
              unnest(everybody) with ordinality as person (contributor_id, person_position)
              join contributor_links using (contributor_id)
            order by url, person_position, position
          ) as first
          where person_position > 1
        ) as numbered,
        (
          select coalesce(max(position), -1) from contributor_links where contributor_id = kept_id
        ) as kept_links (last_position)
      where (link.contributor_id, link.position) = (numbered.contributor_id, numbered.position)
      returning url, number
    )
    select coalesce(array_agg(url order by number), '{}') into links from gained;

    -- Of a language all texts of the first one who has any.
    with gained as (
      update contributor_descriptions as description
      set contributor_id = kept_id
      from (
        select id, position, rank() over (partition by identity_key(language) order by position) as rank
        from
          unnest(everybody) with ordinality as person (contributor_id, position)
          join contributor_descriptions using (contributor_id)
      ) as ranked
      where description.id = ranked.id and position > 1 and rank = 1
      returning language, position, description.id
    )
    select coalesce(array_agg(language order by position, id), '{}') into languages from gained;

    delete from contributor_relations where contributor_id = any(everybody) and relation_id = any(everybody);
    with gained as (
      update contributor_relations as relation
      set contributor_id = kept_id
      from (
        select distinct on (relation_id, relation_type) id, position
        from
          unnest(everybody) with ordinality as person (contributor_id, position)
          join contributor_relations using (contributor_id)
        order by relation_id, relation_type, position, id
      ) as first
      where relation.id = first.id and position > 1
      returning relation.id
    )
    select count(*) into relations from gained;

    others = array(select distinct contributor_id from contributor_relations where relation_id = any(merged_ids));
    update contributor_relations as relation
    set relation_id = kept_id
    from (
      select distinct on (contributor_id, relation_type) id, position
      from
        unnest(everybody) with ordinality as person (relation_id, position)
        join contributor_relations using (relation_id)
      order by contributor_id, relation_type, position, id
    ) as first
    where relation.id = first.id and position > 1;
    update contributors set version = version + 1 where id = any(others);

    with gained as (
      update series_contributors as work
      set contributor_id = kept_id
      from (
        select distinct on (series_id) series_id, contributor_id, position
        from
          unnest(everybody) with ordinality as person (contributor_id, position)
          join series_contributors using (contributor_id)
        order by series_id, position
      ) as first
      where (work.series_id, work.contributor_id) = (first.series_id, first.contributor_id) and position > 1
      returning work.series_id
    )
    select count(*) into series from gained;

    update former_slugs set contributor_id = kept_id where contributor_id = any(merged_ids);
    update former_external_ids set contributor_id = kept_id where contributor_id = any(merged_ids);
    insert into former_external_ids (external_id, contributor_id)
    select external_id, kept_id
    from contributors
    where id = any(merged_ids) and external_id <> coalesce(filled ->> 'external_id', '');
    insert into former_external_ids (external_id, contributor_id)
    select 'slug:' || kept.slug, kept_id
    where filled ? 'external_id'
    on conflict do nothing;

    error = coalesce(
      excess('contributor', array[kept_id]),
      long_alias(aliases, cast(request.input ->> 'lengthMax' as integer))
    );
    if error is not null then
      raise sqlstate 'REFUS' using message = error;
    end if;

    delete from contributors where id = any(merged_ids);
    -- Behind the deletion, so that an undo frees a slug before it inserts the contributor who had it.
    insert into former_slugs (slug, contributor_id) select value ->> 'slug', kept_id from jsonb_array_elements(merged);
    update contributors
    set
      gender = coalesce(gender, filled ->> 'gender'),
      type = coalesce(type, filled ->> 'type'),
      image = coalesce(image, filled ->> 'image'),
      image_size = case when image is null then filled_size else image_size end,
      external_id = coalesce(external_id, filled ->> 'external_id'),
      version = version + 1
    where id = kept_id;
    result = jsonb_build_object(
      'kept', kept_id,
      'merged', merged,
      'filled', filled,
      'added', jsonb_build_object(
        'aliases', aliases, 'links', links, 'descriptions', languages, 'relations', relations, 'series', series
      ),
      'redirected', cardinality(others),
      'warnings', warnings
    );
    -- Until it is done the ledger does not show what goes. Some hundred rows fit into the Data API's result.
    return operated(request, case
      when request.dry_run
        then result || jsonb_build_object('rows', described_rows(current_change(), 0, 300, 300000))
      else result
    end);
  exception when sqlstate 'REFUS' then
    return refused(400, sqlerrm);
  end
$$;
