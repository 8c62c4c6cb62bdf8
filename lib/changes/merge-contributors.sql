-- Why the contributors cannot become one, or null. All have the same client, or none: a client must neither see what is
-- another's, nor lose what it shares with others.
create function merge_error(kept_id bigint, merged_ids bigint[]) returns text language sql stable as $$
  select case
    when merged.id is null then format('Contributor %s does not exist', asked.id)
    else format(
      'Contributor %s %s, but contributor %s %s',
      kept_id, coalesce('belongs to client ' || kept.client_id, 'is shared by all clients'),
      merged.id, coalesce('belongs to client ' || merged.client_id, 'is shared by all clients')
    )
  end
  from
    unnest(kept_id || merged_ids) with ordinality as asked (id, place)
    left join contributors as merged on merged.id = asked.id
    left join contributors as kept on kept.id = kept_id
  where merged.id is null or merged.scope <> kept.scope
  order by place
  limit 1
$$;

-- The names and the aliases of the merged ones become aliases of the kept one, unless it has that name already.
create function merge_aliases(kept_id bigint, everybody bigint[]) returns jsonb language sql as $$
  with known as (
    select identity_key(full_name(contributors)) as key from contributors where id = kept_id
    union
    select identity_key(name) from contributor_aliases where contributor_id = kept_id
  ), gained as (
    select distinct on (identity_key(name)) id, name, place
    from (
      select place, cast(null as bigint), full_name(contributors)
      from unnest(everybody) with ordinality as person (id, place) join contributors using (id)
      union all
      select place, alias.id, alias.name
      from
        unnest(everybody) with ordinality as person (id, place)
        join contributor_aliases as alias on alias.contributor_id = person.id
    ) as candidate (place, id, name)
    where place > 1 and identity_key(name) not in (select key from known)
    order by identity_key(name), place, id
  ), moved as (
    update contributor_aliases set contributor_id = kept_id where id in (select id from gained)
  ), added as (
    insert into contributor_aliases (contributor_id, name)
    select kept_id, name from gained where id is null order by place
  )
  select coalesce(jsonb_agg(name order by place, id), '[]') from gained
$$;

-- Links that the kept one does not have come behind its own.
create function merge_links(kept_id bigint, everybody bigint[]) returns jsonb language sql as $$
  with first as (
    select distinct on (url) url, contributor_id, link.position, place
    from unnest(everybody) with ordinality as person (id, place) join contributor_links as link on contributor_id = id
    order by url, place, link.position
  ), gained as (
    select *, row_number() over (order by place, position) as number from first where place > 1
  ), moved as (
    update contributor_links as link
    set
      contributor_id = kept_id,
      position = number + (select coalesce(max(position), -1) from contributor_links where contributor_id = kept_id)
    from gained
    where (link.contributor_id, link.position) = (gained.contributor_id, gained.position)
  )
  select coalesce(jsonb_agg(url order by number), '[]') from gained
$$;

-- In each language the descriptions of the first one that has any stay. Of the others the answer tells the beginning; a
-- result has room for so many.
create function merge_descriptions(
  kept_id bigint, everybody bigint[], out gained jsonb, out left_out jsonb
) language sql as $$
  with ranked as (
    select text.*, place, min(place) over (partition by identity_key(language)) as first_place
    from
      unnest(everybody) with ordinality as person (id, place)
      join contributor_descriptions as text on text.contributor_id = person.id
  ), moved as (
    update contributor_descriptions
    set contributor_id = kept_id
    where id in (select id from ranked where place > 1 and place = first_place)
  )
  select
    coalesce(jsonb_agg(language order by place, id) filter (where place = first_place), '[]'),
    jsonb_path_query_array(
      coalesce(
        jsonb_agg(
          jsonb_build_object('record', contributor_id, 'language', language, 'description', left(description, 100))
          order by place, id
        ) filter (where place > first_place),
        '[]'
      ),
      '$[0 to 299]'
    )
  from ranked
  where place > 1
$$;

-- Relations to others become the kept one's, and those of others lead to it, each once; those among all of them vanish.
create function merge_relations(
  kept_id bigint, everybody bigint[], out gained bigint, out redirected bigint
) language plpgsql as $$
  declare
    others bigint[];
  begin
    with ranked as (
      select
        relation.id, place,
        row_number() over (partition by relation_id, relation_type order by place, relation.id) as number
      from
        unnest(everybody) with ordinality as person (id, place)
        join contributor_relations as relation on contributor_id = person.id
      where relation_id <> all(everybody)
    ), moved as (
      update contributor_relations
      set contributor_id = kept_id
      where id in (select id from ranked where place > 1 and number = 1)
      returning id
    )
    select count(*) into gained from moved;
    delete from contributor_relations where contributor_id = kept_id and relation_id = any(everybody);

    others = array(
      select distinct contributor_id
      from contributor_relations
      where relation_id = any(without(everybody, array[kept_id])) and contributor_id <> all(everybody)
    );
    with ranked as (
      select
        id, relation_id,
        row_number() over (partition by contributor_id, relation_type order by relation_id <> kept_id, id) as number
      from contributor_relations
      where relation_id = any(everybody) and contributor_id = any(others)
    )
    update contributor_relations
    set relation_id = kept_id
    where id in (select id from ranked where relation_id <> kept_id and number = 1);
    update contributors set version = version + 1 where id = any(others);
    redirected = cardinality(others);
  end
$$;

-- The role in a series joins the roles of all merged contributors there, as they are written.
create function merge_roles(kept_id bigint, everybody bigint[], out added bigint, out extended bigint)
  language sql as $$
  with ranked as (
    select series_id, contributor_id, role, place
    from unnest(everybody) with ordinality as person (id, place) join series_contributors on contributor_id = id
  ), first as (
    select
      series_id,
      (array_agg(contributor_id order by place))[1] as contributor_id,
      (
        select string_agg(role, ', ' order by place)
        from (
          select distinct on (identity_key(role)) role, place
          from ranked as credit
          where credit.series_id = ranked.series_id and role <> ''
          order by identity_key(role), place
        ) as written
      ) as role
    from ranked
    group by series_id
    having max(place) > 1
  ), moved as (
    update series_contributors as current
    set contributor_id = kept_id, role = coalesce(first.role, current.role)
    from first
    where
      (current.series_id, current.contributor_id) = (first.series_id, first.contributor_id)
      and (current.contributor_id <> kept_id or current.role is distinct from coalesce(first.role, current.role))
    returning old.contributor_id <> kept_id as is_added
  )
  select count(*) filter (where is_added), count(*) filter (where not is_added) from moved
$$;

-- The length of a text as the API counts it, in units of UTF-16.
create function units(text text) returns integer language sql immutable as $$
  select char_length(text) + char_length(regexp_replace(text, '[^\U00010000-\U0010FFFF]', '', 'g'))
$$;

-- What is too long for the API now that the kept one has it, or null.
create function length_error(kept_id bigint, aliases jsonb, length_max integer) returns text language sql stable as $$
  select format(
    'The %s "%s…"%s would have %s characters, and can have %s', noun, left(text, 30), place, units(text), length_max
  )
  from (
    select 'alias', name, '' from jsonb_array_elements_text(aliases) as name
    union all
    select 'role', role, ' in series ' || series_id from series_contributors where contributor_id = kept_id
  ) as written (noun, text, place)
  where units(text) > length_max
  limit 1
$$;

-- The fields that a merge fills where the kept one has none. An external id that says a slug stays with that.
create function filled_fields(kept contributors, merged_ids bigint[]) returns contributors language sql stable as $$
  select jsonb_populate_record(kept, jsonb_build_object(
    'gender', coalesce(kept.gender, (array_agg(gender order by place) filter (where gender is not null))[1]),
    'type', coalesce(kept.type, (array_agg(type order by place) filter (where type is not null))[1]),
    'image', coalesce(kept.image, (array_agg(image order by place) filter (where image is not null))[1]),
    'external_id', coalesce(
      kept.external_id,
      (
        array_agg(external_id order by place)
        filter (where external_id is not null and said_slug(external_id) is null)
      )[1]
    )
  ))
  from unnest(merged_ids) with ordinality as merged (id, place) join contributors using (id)
$$;

-- ops-merge-contributors. What the merged ones have gets another owner; what is left goes with them. Their slugs and
-- external ids lead to the kept one.
create function merge_contributors(request request) returns outcome language plpgsql as $$
  declare
    kept_id bigint = request.input ->> 'keep';
    merged_ids bigint[] = array(
      select cast(id as bigint)
      from json_array_elements_text(request.input -> 'merge') with ordinality as merged (id, place)
      order by place
    );
    everybody bigint[] = kept_id || merged_ids;
    kept contributors;
    latest contributors;
    answer jsonb;
    error text;
  begin
    perform from contributors where id = any(everybody) order by id for update;
    error = merge_error(kept_id, merged_ids);
    if error is not null then
      return refused(400, error);
    end if;
    select * into kept from contributors where id = kept_id;
    latest = filled_fields(kept, merged_ids);
    answer = (
      select jsonb_build_object(
        'kept', kept_id,
        'merged', jsonb_agg(jsonb_build_object('id', id, 'name', full_name(contributors), 'slug', slug) order by place),
        'filled', (
          select coalesce(jsonb_object_agg(name, value), '{}')
          from jsonb_each(to_jsonb(latest)) as field (name, value)
          where value is distinct from to_jsonb(kept) -> name
        ),
        'added', jsonb_build_object(
          'aliases', merge_aliases(kept_id, everybody),
          'links', merge_links(kept_id, everybody)
        ),
        'leftOut', jsonb_build_object(
          'images', coalesce(jsonb_agg(id order by place) filter (where image <> latest.image), '[]')
        )
      )
      from unnest(merged_ids) with ordinality as merged (id, place) join contributors using (id)
    );
    select
      jsonb_build_object(
        'added', answer -> 'added' || jsonb_build_object(
          'descriptions', texts.gained, 'relations', relations.gained, 'series', roles.added, 'roles', roles.extended
        ),
        'leftOut', answer -> 'leftOut' || jsonb_build_object('descriptions', texts.left_out),
        'redirected', redirected
      ) || answer - array['added', 'leftOut']
    into answer
    from
      merge_descriptions(kept_id, everybody) as texts,
      merge_relations(kept_id, everybody) as relations,
      merge_roles(kept_id, everybody) as roles;
    error = coalesce(
      excess('contributor', array[kept_id]),
      length_error(kept_id, answer #> '{added,aliases}', cast(request.input ->> 'lengthMax' as integer))
    );
    if error is not null then
      raise sqlstate 'REFUS' using message = error;
    end if;

    insert into former_slugs (slug, contributor_id)
    select slug, kept_id from contributors where id = any(merged_ids);
    update former_slugs set contributor_id = kept_id where contributor_id = any(merged_ids);
    insert into former_external_ids (external_id, contributor_id)
    select external_id, kept_id
    from contributors
    where id = any(merged_ids) and external_id is not null and external_id is distinct from latest.external_id;
    update former_external_ids set contributor_id = kept_id where contributor_id = any(merged_ids);
    delete from contributors where id = any(merged_ids);
    update contributors
    set
      gender = latest.gender,
      type = latest.type,
      image = latest.image,
      external_id = latest.external_id,
      version = version + 1
    where id = kept_id;
    return operated(request, answer);
  exception when sqlstate 'REFUS' then
    return refused(400, sqlerrm);
  end
$$;
