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
    unnest(kept_id || merged_ids) with ordinality as requested (id, place)
    left join contributors as merged on merged.id = requested.id
    left join contributors as kept on kept.id = kept_id
  where merged.id is null or merged.scope <> kept.scope
  order by place
  limit 1
$$;

-- Gives the first contributor what leads to the others by a column, and returns these rows in order. Of rows that are
-- the same by an expression the first one counts, or all of the first contributor that has some if they are shared; a
-- row without that value does not move. Links come behind those that are there.
create function merge_rows(
  list_table text, owner_column text, identity text, is_shared boolean, everybody bigint[]
) returns jsonb language plpgsql as $$
  declare
    keys text[] = key_columns(list_table);
    moved jsonb;
  begin
    execute format(
      $sql$
        with ranked as (
          select current.*, place, %1$s as identity, %2$s over (partition by %1$s order by place, %3$s) as rank
          from unnest($1) with ordinality as person (person_id, place) join %4$I as current on %5$I = person_id
        ), gained as (
          select *, row_number() over (order by place, %6$s) as number
          from ranked
          where place > 1 and rank = 1 and identity is not null
        ), moved as (
          update %4$I as current set %5$I = $1[1]%7$s from gained where %8$s
        )
        select coalesce(jsonb_agg(to_jsonb(gained) order by number), '[]') from gained
      $sql$,
      identity, case when is_shared then 'rank()' else 'row_number()' end,
      case when is_shared then 'place' else column_list(keys, 'current.') end, list_table, owner_column,
      column_list(keys),
      case when 'position' = any(keys) then format(
        ', position = number + (select coalesce(max(position), -1) from %I where %I = $1[1])', list_table, owner_column
      ) end,
      (select string_agg(format('current.%1$I = gained.%1$I', name), ' and ') from unnest(keys) as name)
    )
    into moved
    using everybody;
    return moved;
  end
$$;

-- The first one's role in a series becomes the roles of all of them there, as they are written. Returns in how many
-- series that is the kept one's.
create function merge_roles(everybody bigint[]) returns bigint language sql as $$
  with joined as (
    select
      series_id, everybody[min(place)] as first_id,
      string_agg(role, ', ' order by place) filter (where role <> '' and is_first) as role
    from (
      select *, place = min(place) over (partition by series_id, identity_key(role)) as is_first
      from unnest(everybody) with ordinality as person (id, place) join series_contributors on contributor_id = id
    ) as written
    group by series_id
  ), extended as (
    update series_contributors as current
    set role = joined.role
    from joined
    where
      (current.series_id, contributor_id) = (joined.series_id, first_id)
      and joined.role <> coalesce(current.role, '')
    returning contributor_id
  )
  select count(*) from extended where contributor_id = everybody[1]
$$;

-- What is too long for the API now that the kept one has it, or null. The API counts units of UTF-16.
create function length_error(kept_id bigint, aliases jsonb, length_max integer) returns text language sql stable as $$
  select format(
    'The %s "%s…"%s would have %s characters, and can have %s', noun, left(text, 30), place, units, length_max
  )
  from
    (
      select 'alias', name, '' from jsonb_array_elements_text(aliases) as name
      union all
      select 'role', role, ' in series ' || series_id from series_contributors where contributor_id = kept_id
    ) as written (noun, text, place)
    cross join lateral (
      select char_length(text) + regexp_count(text, '[\U00010000-\U0010FFFF]')
    ) as counted (units)
  where units > length_max
  limit 1
$$;

-- What the kept one gets of fields that it has not. An external id that says a slug stays with that.
create function filled_fields(kept contributors, merged_ids bigint[]) returns jsonb language sql stable as $$
  select coalesce(jsonb_object_agg(name, value), '{}')
  from (
    select distinct on (name) name, value
    from
      unnest(merged_ids) with ordinality as merged (id, place)
      join contributors using (id)
      cross join lateral (
        values
          ('gender', gender), ('type', type), ('image', image),
          ('external_id', case when said_slug(external_id) is null then external_id end)
      ) as field (name, value)
    where value is not null and to_jsonb(kept) ->> name is null
    order by name, place
  ) as first
$$;

-- ops-merge-contributors. What the merged ones have gets another owner; what is left goes with them. Their slugs and
-- external ids lead to the kept one. The result has what the kept one gets: of series those that it was not in, and of
-- roles those that are longer now; and whose avatars are removed.
create function merge_contributors(request request) returns outcome language plpgsql as $$
  declare
    kept_id bigint = request.input ->> 'keep';
    merged_ids bigint[] = (select merge from json_to_record(request.input) as input (merge bigint[]));
    everybody bigint[] = kept_id || merged_ids;
    kept contributors;
    filled jsonb;
    others bigint[];
    alias_identity text;
    gained jsonb;
    extended bigint;
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

    -- Their names become aliases, their slugs and external ids former ones.
    insert into contributor_aliases (contributor_id, name)
    select id, full_name(contributors) from contributors where id = any(merged_ids);
    insert into former_slugs (slug, contributor_id)
    select slug, kept_id from contributors where id = any(merged_ids);
    insert into former_external_ids (external_id, contributor_id)
    select external_id, kept_id
    from contributors
    where id = any(merged_ids) and external_id <> coalesce(filled ->> 'external_id', '');
    insert into former_external_ids (external_id, contributor_id)
    select 'slug:' || kept.slug, kept_id
    where filled ? 'external_id'
    on conflict do nothing;
    delete from contributor_relations where contributor_id = any(everybody) and relation_id = any(everybody);
    others = array(select distinct contributor_id from contributor_relations where relation_id = any(merged_ids));
    extended = merge_roles(everybody);
    alias_identity = format('nullif(identity_key(current.name), %L)', identity_key(full_name(kept)));
    gained = (
      select jsonb_object_agg(what, merge_rows(list_table, owner_column, identity, is_shared, everybody))
      from (
        values
          ('aliases', 'contributor_aliases', 'contributor_id', alias_identity, false),
          ('links', 'contributor_links', 'contributor_id', 'url', false),
          ('descriptions', 'contributor_descriptions', 'contributor_id', 'identity_key(language)', true),
          ('relations', 'contributor_relations', 'contributor_id', 'row(relation_id, relation_type)', false),
          ('redirected', 'contributor_relations', 'relation_id', 'row(contributor_id, relation_type)', false),
          ('series', 'series_contributors', 'contributor_id', 'series_id', false),
          ('former slugs', 'former_slugs', 'contributor_id', 'slug', false),
          ('former external ids', 'former_external_ids', 'contributor_id', 'external_id', false)
      ) as list (what, list_table, owner_column, identity, is_shared)
    );
    update contributors set version = version + 1 where id = any(others);
    result = (
      select jsonb_build_object(
        'kept', kept_id,
        'merged', jsonb_agg(jsonb_build_object('id', id, 'name', full_name(contributors), 'slug', slug) order by place),
        'filled', filled,
        'added', jsonb_build_object(
          'aliases', jsonb_path_query_array(gained, '$.aliases.name'),
          'links', jsonb_path_query_array(gained, '$.links.url'),
          'descriptions', jsonb_path_query_array(gained, '$.descriptions.language'),
          'relations', jsonb_array_length(gained -> 'relations'),
          'series', jsonb_array_length(gained -> 'series'),
          'roles', extended
        ),
        'redirected', cardinality(others),
        'skipped', jsonb_build_object(
          -- The beginnings of the first 300; a result has room for so many.
          'descriptions', (
            select jsonb_path_query_array(coalesce(jsonb_agg(
              jsonb_build_object('record', contributor_id, 'language', language, 'description', left(description, 100))
              order by array_position(merged_ids, contributor_id), id
            ), '[]'), '$[0 to 299]')
            from contributor_descriptions
            where contributor_id = any(merged_ids)
          ),
          'images', coalesce(
            jsonb_agg(id order by place) filter (where image <> coalesce(kept.image, filled ->> 'image')), '[]'
          )
        )
      )
      from unnest(merged_ids) with ordinality as merged (id, place) join contributors using (id)
    );
    error = coalesce(
      excess('contributor', array[kept_id]),
      length_error(kept_id, result #> '{added,aliases}', cast(request.input ->> 'lengthMax' as integer))
    );
    if error is not null then
      raise sqlstate 'REFUS' using message = error;
    end if;

    delete from contributors where id = any(merged_ids);
    perform update_rows('contributors', jsonb_build_array(jsonb_build_object(
      'key', jsonb_build_array(kept_id), 'values', filled || jsonb_build_object('version', kept.version + 1)
    )));
    return operated(request, result);
  exception when sqlstate 'REFUS' then
    return refused(400, sqlerrm);
  end
$$;
