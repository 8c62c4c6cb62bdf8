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

-- The names and the aliases of the merged ones that the kept one has neither as its name nor as an alias.
create function gained_aliases(kept contributors, merged_ids bigint[]) returns text[] language sql stable as $$
  select missing_aliases(kept, '{}', array(
    select name
    from (
      select place, 0, full_name(contributors)
      from unnest(merged_ids) with ordinality as merged (id, place) join contributors using (id)
      union all
      select place, alias.id, alias.name
      from
        unnest(merged_ids) with ordinality as merged (id, place)
        join contributor_aliases as alias on alias.contributor_id = merged.id
    ) as candidate (place, id, name)
    order by place, id
  ))
$$;

create function urls_of(target bigint) returns text[] language sql stable as $$
  select array(select url from contributor_links where contributor_id = target order by position)
$$;

-- The links of the merged ones that the kept one does not have, in their order.
create function gained_links(kept_id bigint, merged_ids bigint[]) returns text[] language sql stable as $$
  select array(
    select url
    from (
      select distinct on (url) url, place, position
      from
        unnest(kept_id || merged_ids) with ordinality as contributor (id, place)
        join contributor_links as link on link.contributor_id = contributor.id
      order by url, place, position
    ) as link
    where place > 1
    order by place, position
  )
$$;

-- The descriptions of the merged ones. In each language the first contributor that has any gives its own; the kept one
-- comes first.
create function merged_descriptions(kept_id bigint, merged_ids bigint[]) returns table (
  id bigint, contributor_id bigint, language text, description text, source text, place bigint, is_gained boolean
) language sql stable as $$
  select id, contributor_id, language, description, source, place, place = first_place
  from (
    select text.*, place, min(place) over (partition by identity_key(language)) as first_place
    from
      unnest(kept_id || merged_ids) with ordinality as contributor (id, place)
      join contributor_descriptions as text on text.contributor_id = contributor.id
  ) as text
  where place > 1
$$;

-- The relations of the merged ones to others that the kept one does not have.
create function gained_relations(kept_id bigint, merged_ids bigint[]) returns table (
  relation_id bigint, relation_type text
) language sql stable as $$
  select relation_id, relation_type
  from (
    select distinct on (relation_id, relation_type) relation_id, relation_type, place, relation.id
    from
      unnest(kept_id || merged_ids) with ordinality as contributor (id, place)
      join contributor_relations as relation on relation.contributor_id = contributor.id
    where relation_id <> all(kept_id || merged_ids)
    order by relation_id, relation_type, place, relation.id
  ) as relation
  where place > 1
  order by place, id
$$;

-- What somebody is in a series who has these roles there: the first one as it is written, and the parts of the others
-- that are new.
create function joined_roles(roles text[]) returns text language sql immutable as $$
  with role as (
    select text, row_number() over (order by place) as place
    from unnest(roles) with ordinality as role (text, place)
    where text <> ''
  ), part as (
    select distinct on (identity_key(name)) name, place, number
    from
      role
      cross join lateral regexp_split_to_table(text, '\s*,\s*|\s+and\s+') with ordinality as part (name, number)
    where name <> ''
    order by identity_key(name), place, number
  )
  select coalesce(
    nullif(
      concat_ws(
        ', ',
        (select text from role where place = 1),
        (select string_agg(name, ', ' order by place, number) from part where place > 1)
      ),
      ''
    ),
    roles[1]
  )
$$;

-- The series of the merged ones, the roles that all have there, and what the kept one gets.
create function gained_roles(kept_id bigint, merged_ids bigint[]) returns table (
  series_id bigint, roles text[], role text
) language sql stable as $$
  with link as (
    select series_id, array_agg(role order by place) as roles
    from
      unnest(kept_id || merged_ids) with ordinality as contributor (id, place)
      join series_contributors as link on link.contributor_id = contributor.id
    group by series_id
    having max(place) > 1
  ), joined as materialized (
    select roles, joined_roles(roles) as role from (select distinct roles from link) as different
  )
  select series_id, roles, role from link join joined using (roles)
$$;

-- The length of a text as the API counts it, in units of UTF-16.
create function units(text text) returns integer language sql immutable as $$
  select char_length(text) + char_length(regexp_replace(text, '[^\U00010000-\U0010FFFF]', '', 'g'))
$$;

-- What the kept one would have too many of, or null. What it has already does not matter.
create function merge_excess(
  kept_id bigint, merged_ids bigint[], aliases text[], links text[]
) returns text language sql stable as $$
  select format('Contributor %s would have %s %s, and can have %s', kept_id, former + gained, kind, max_count)
  from (
    select
      'aliases', cardinality(aliases), (select count(*) from contributor_aliases where contributor_id = kept_id), 200
    union all
    select 'links', cardinality(links), cardinality(urls_of(kept_id)), 50
    union all
    select
      'descriptions', (select count(*) from merged_descriptions(kept_id, merged_ids) where is_gained),
      (select count(*) from contributor_descriptions where contributor_id = kept_id), 40
    union all
    select
      'relations', (select count(*) from gained_relations(kept_id, merged_ids)),
      (
        select count(*)
        from contributor_relations
        where contributor_id = kept_id and relation_id <> all(merged_ids)
      ),
      100
  ) as element (kind, gained, former, max_count)
  where gained > 0 and former + gained > max_count
  union all
  select format('The alias "%s…" would have %s characters, and can have 255', left(name, 30), units(name))
  from unnest(aliases) as name
  where units(name) > 255
  union all
  select format(
    'The role "%s…" in series %s would have %s characters, and can have 255', left(role, 30), series_id, units(role)
  )
  from gained_roles(kept_id, merged_ids)
  where role <> all(roles) and units(role) > 255
  limit 1
$$;

-- Joins the kept one to the series of the merged ones.
create function gain_series(kept_id bigint, merged_ids bigint[], out added bigint, out extended bigint)
  language sql as $$
  with written as (
    insert into series_contributors as current (contributor_id, series_id, role)
    select kept_id, series_id, role
    from gained_roles(kept_id, merged_ids)
    order by series_id
    on conflict (contributor_id, series_id) do update
    set role = excluded.role
    where current.role is distinct from excluded.role
    returning old.series_id is null as is_added
  )
  select count(*) filter (where is_added), count(*) filter (where not is_added) from written
$$;

-- Relations of others to a merged one lead to the kept one, if they have no such relation to that. Returns the number
-- of the others.
create function redirect_relations(kept_id bigint, merged_ids bigint[]) returns bigint language plpgsql as $$
  declare
    others bigint[] = array(
      select distinct contributor_id
      from contributor_relations
      where relation_id = any(merged_ids) and contributor_id <> all(kept_id || merged_ids)
    );
  begin
    delete from contributor_relations
    where
      id in (
        select id
        from (
          select
            id, relation_id,
            row_number() over (partition by contributor_id, relation_type order by relation_id <> kept_id, id) as number
          from contributor_relations
          where relation_id = any(kept_id || merged_ids) and contributor_id = any(others)
        ) as relation
        where relation_id <> kept_id and number > 1
      );
    update contributor_relations
    set relation_id = kept_id
    where relation_id = any(merged_ids) and contributor_id = any(others);
    update contributors set version = version + 1 where id = any(others);
    return cardinality(others);
  end
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

-- What the answer says of the merged ones, and what the kept one does not get. A result has room for so many texts.
create function merged_contributors(kept_id bigint, merged_ids bigint[], filled contributors) returns jsonb
  language sql stable as $$
  select jsonb_build_object(
    'kept', kept_id,
    'merged', jsonb_agg(jsonb_build_object('id', id, 'name', full_name(contributors), 'slug', slug) order by place),
    'leftOut', jsonb_build_object(
      'descriptions', (
        select coalesce(
          jsonb_agg(
            jsonb_build_object(
              'record', contributor_id, 'language', language, 'description', left(description, 100)
            )
            order by place, id
          ),
          '[]'
        )
        from (
          select *
          from merged_descriptions(kept_id, merged_ids)
          where not is_gained
          order by place, id
          limit 300
        ) as text
      ),
      'images', coalesce(jsonb_agg(id order by place) filter (where image <> filled.image), '[]'),
      'externalIds', coalesce(
        jsonb_agg(jsonb_build_object('record', id, 'externalId', external_id) order by place)
        filter (where external_id is not null and external_id is distinct from filled.external_id),
        '[]'
      )
    )
  )
  from unnest(merged_ids) with ordinality as merged (id, place) join contributors using (id)
$$;

-- ops-merge-contributors. The merged ones are deleted, the kept one has what they had, and their slugs lead to it.
create function merge_contributors(request request) returns outcome language plpgsql as $$
  declare
    kept_id bigint = request.input ->> 'keep';
    merged_ids bigint[] = array(
      select cast(id as bigint)
      from json_array_elements_text(request.input -> 'merge') with ordinality as merged (id, place)
      order by place
    );
    kept contributors;
    aliases text[];
    links text[];
    slugs text[];
    descriptions json;
    relations json;
    latest contributors;
    answer jsonb;
    error text;
  begin
    perform from contributors where id = any(kept_id || merged_ids) order by id for update;
    error = merge_error(kept_id, merged_ids);
    if error is not null then
      return refused(400, error);
    end if;
    select * into kept from contributors where id = kept_id;
    aliases = gained_aliases(kept, merged_ids);
    links = gained_links(kept_id, merged_ids);
    error = merge_excess(kept_id, merged_ids, aliases, links);
    if error is not null then
      return refused(400, error);
    end if;

    latest = filled_fields(kept, merged_ids);
    slugs = array(
      select slug from contributors where id = any(merged_ids)
      union all
      select slug from former_slugs where contributor_id = any(merged_ids)
      order by slug
    );
    descriptions = (
      select json_agg(row_to_json(text) order by place, id)
      from merged_descriptions(kept_id, merged_ids) as text
      where is_gained
    );
    relations = (select json_agg(row_to_json(relation)) from gained_relations(kept_id, merged_ids) as relation);
    answer = merged_contributors(kept_id, merged_ids, latest) || jsonb_build_object(
      'filled', (
        select coalesce(jsonb_object_agg(name, value), '{}')
        from jsonb_each(to_jsonb(latest)) as field (name, value)
        where value is distinct from to_jsonb(kept) -> name
      ),
      'redirected', redirect_relations(kept_id, merged_ids)
    );

    perform edit_aliases(kept_id, to_json(aliases), '{}');
    perform edit_descriptions(kept_id, descriptions, '{}', null);
    perform edit_relations(kept_id, relations, '{}', null);
    perform edit_links(kept_id, to_json(urls_of(kept_id) || links));
    answer = answer || jsonb_build_object('added', (
      select jsonb_build_object(
        'aliases', aliases,
        'links', links,
        'descriptions', coalesce(jsonb_path_query_array(cast(descriptions as jsonb), '$[*].language'), '[]'),
        'relations', coalesce(json_array_length(relations), 0),
        'series', gained.added,
        'roles', gained.extended
      )
      from gain_series(kept_id, merged_ids) as gained
    ));
    delete from contributors where id = any(merged_ids);
    insert into former_slugs (slug, contributor_id) select unnest(slugs), kept_id;
    update contributors
    set
      gender = latest.gender,
      type = latest.type,
      image = latest.image,
      external_id = latest.external_id,
      version = version + 1
    where id = kept_id;
    return operated(request, answer);
  end
$$;
