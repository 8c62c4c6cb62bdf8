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

-- The fields that are no empty lists.
create function without_empty(fields jsonb) returns jsonb language sql immutable as $$
  select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(fields) where value not in ('null', '[]')
$$;

-- What an edit replaced, and what is there now, by the names of effects (README.md).
create type replacement as (before jsonb, after jsonb);

-- Joins the kept one to the series of the merged ones.
create function gain_series(kept_id bigint, merged_ids bigint[]) returns replacement language plpgsql as $$
  declare
    changed replacement;
  begin
    with written as (
      insert into series_contributors as current (contributor_id, series_id, role)
      select kept_id, series_id, role
      from gained_roles(kept_id, merged_ids)
      order by series_id
      on conflict (contributor_id, series_id) do update
      set role = excluded.role
      where current.role is distinct from excluded.role
      returning new.series_id as id, old.series_id is null as is_added, old.role as former_role, new.role
    )
    select
      without_empty(jsonb_build_object(
        'added_series', jsonb_agg(id order by id) filter (where is_added),
        'modified_series',
        jsonb_agg(jsonb_build_object('id', id, 'role', former_role) order by id) filter (where not is_added)
      )),
      without_empty(jsonb_build_object(
        'added_series', jsonb_agg(jsonb_build_object('id', id, 'role', role) order by id) filter (where is_added),
        'modified_series',
        jsonb_agg(jsonb_build_object('id', id, 'role', role) order by id) filter (where not is_added)
      ))
    into changed
    from written;
    return changed;
  end
$$;

-- Relations of others to a merged one lead to the kept one, if they have no such relation to that. Returns an effect of
-- each of the others.
create function redirect_relations(kept_id bigint, merged_ids bigint[]) returns jsonb language plpgsql as $$
  declare
    doubles bigint[] = array(
      select id
      from (
        select
          id, relation_id,
          row_number() over (
            partition by contributor_id, relation_type order by relation_id <> kept_id, id
          ) as number
        from contributor_relations
        where relation_id = any(kept_id || merged_ids) and contributor_id <> all(kept_id || merged_ids)
      ) as relation
      where relation_id <> kept_id and number > 1
    );
    effects jsonb;
  begin
    with removed as (
      delete from contributor_relations
      where id = any(doubles)
      returning contributor_id, id, relation_id, relation_type
    ), modified as (
      update contributor_relations
      set relation_id = kept_id
      where relation_id = any(merged_ids) and contributor_id <> all(kept_id || merged_ids) and id <> all(doubles)
      returning new.contributor_id, new.id, old.relation_id, new.relation_type
    ), element as (
      select
        contributor_id as owner,
        jsonb_agg(jsonb_build_object('id', id, 'relation_id', relation_id, 'relation_type', relation_type) order by id)
          filter (where is_removed) as removed,
        jsonb_agg(jsonb_build_object('id', id, 'relation_id', relation_id) order by id)
          filter (where not is_removed) as former,
        jsonb_agg(jsonb_build_object('id', id, 'relation_id', kept_id) order by id)
          filter (where not is_removed) as latest
      from (select *, true as is_removed from removed union all select *, false from modified) as relation
      group by contributor_id
    ), versioned as (
      update contributors
      set version = version + 1
      from element
      where contributors.id = owner
      returning owner, full_name(contributors) as name, removed, former, latest
    )
    select jsonb_agg(jsonb_build_object(
      'record', 'contributor',
      'id', owner,
      'name', name,
      'did', 'edit',
      'before', without_empty(jsonb_build_object('removed_relations', removed, 'modified_relations', former)),
      'after', without_empty(jsonb_build_object('modified_relations', latest))
    ) order by owner)
    into effects
    from versioned;
    return coalesce(effects, '[]');
  end
$$;

-- Adds the elements of the merged ones to the kept one.
create function gain_elements(kept_id bigint, merged_ids bigint[], aliases text[], links text[]) returns replacement
  language plpgsql as $$
  declare
    changed replacement;
    descriptions json = (
      select json_agg(row_to_json(text) order by place, id)
      from merged_descriptions(kept_id, merged_ids) as text
      where is_gained
    );
    relations json = (select json_agg(row_to_json(relation)) from gained_relations(kept_id, merged_ids) as relation);
    all_links text[] = urls_of(kept_id) || links;
  begin
    changed.before = edit_aliases(kept_id, to_json(aliases), '{}')
      || edit_descriptions(kept_id, descriptions, '{}', null)
      || edit_relations(kept_id, relations, '{}', null)
      || case when links = '{}' then '{}' else edit_links(kept_id, to_json(all_links)) end;
    changed.after = without_empty(jsonb_build_object(
      'added_aliases', (
        select jsonb_agg(jsonb_build_object('id', id, 'name', name) order by id)
        from contributor_aliases
        where id = any(ids(cast(changed.before -> 'added_aliases' as json)))
      ),
      'added_descriptions', (
        select jsonb_agg(to_jsonb(text) - 'contributor_id' order by id)
        from contributor_descriptions as text
        where id = any(ids(cast(changed.before -> 'added_descriptions' as json)))
      ),
      'added_relations', (
        select jsonb_agg(to_jsonb(relation) - 'contributor_id' order by id)
        from contributor_relations as relation
        where id = any(ids(cast(changed.before -> 'added_relations' as json)))
      ),
      'links', case when changed.before -> 'links' is not null then to_jsonb(all_links) end
    ));
    return changed;
  end
$$;

-- The fields that a merge fills where the kept one has none. An external id that says a slug stays with that.
create function filled_fields(kept contributors, merged_ids bigint[]) returns json language sql stable as $$
  select json_build_object(
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
  )
  from unnest(merged_ids) with ordinality as merged (id, place) join contributors using (id)
$$;

-- What the answer says of the merged ones, and what the kept one does not get. A result has room for so many texts.
create function merged_contributors(kept_id bigint, merged_ids bigint[], filled json) returns jsonb
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
      'images', coalesce(jsonb_agg(id order by place) filter (where image <> filled ->> 'image'), '[]'),
      'externalIds', coalesce(
        jsonb_agg(jsonb_build_object('record', id, 'externalId', external_id) order by place)
        filter (where external_id is not null and external_id is distinct from filled ->> 'external_id'),
        '[]'
      )
    )
  )
  from unnest(merged_ids) with ordinality as merged (id, place) join contributors using (id)
$$;

-- Deletes the merged ones, and returns an effect of each. What two of them have in common is the first one's.
create function delete_merged(merged_ids bigint[], image_key text) returns jsonb language plpgsql as $$
  declare
    merged_id bigint;
    record json;
    effects jsonb[] = '{}';
  begin
    foreach merged_id in array merged_ids loop
      record = contributor_record(merged_id);
      delete from contributors where id = merged_id;
      if record ->> 'image' <> image_key then
        perform schedule_removal(record);
      end if;
      effects = effects || jsonb_build_object(
        'record', 'contributor',
        'id', merged_id,
        'name', concat_ws(' ', record ->> 'first_name', record ->> 'last_name'),
        'did', 'delete',
        'before', record
      );
    end loop;
    return to_jsonb(effects);
  end
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
    former json;
    latest json;
    elements replacement;
    series replacement;
    effects jsonb;
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

    former = json_build_object(
      'gender', kept.gender, 'type', kept.type, 'image', kept.image, 'external_id', kept.external_id
    );
    latest = filled_fields(kept, merged_ids);
    slugs = array(
      select slug from contributors where id = any(merged_ids)
      union all
      select slug from former_slugs where contributor_id = any(merged_ids)
      order by slug
    );
    answer = merged_contributors(kept_id, merged_ids, latest);
    effects = redirect_relations(kept_id, merged_ids);
    answer = answer || jsonb_build_object(
      'filled', replaced(latest, former), 'redirected', jsonb_array_length(effects)
    );

    elements = gain_elements(kept_id, merged_ids, aliases, links);
    series = gain_series(kept_id, merged_ids);
    effects = effects || delete_merged(merged_ids, latest ->> 'image');
    insert into former_slugs (slug, contributor_id) select unnest(slugs), kept_id;
    update contributors
    set
      gender = latest ->> 'gender',
      type = latest ->> 'type',
      image = latest ->> 'image',
      external_id = latest ->> 'external_id',
      version = version + 1
    where id = kept_id;

    return operated(
      request,
      effects || jsonb_build_object(
        'record', 'contributor',
        'id', kept_id,
        'name', full_name(kept),
        'did', 'edit',
        'before', replaced(former, latest) || elements.before || series.before
          || jsonb_build_object('added_slugs', slugs),
        'after', replaced(latest, former) || elements.after || series.after
          || jsonb_build_object('added_slugs', slugs)
      ),
      answer || jsonb_build_object('added', jsonb_build_object(
        'aliases', aliases,
        'links', links,
        'descriptions', coalesce(jsonb_path_query_array(elements.after, '$.added_descriptions[*].language'), '[]'),
        'relations', coalesce(jsonb_array_length(elements.before -> 'added_relations'), 0),
        'series', coalesce(jsonb_array_length(series.before -> 'added_series'), 0),
        'roles', coalesce(jsonb_array_length(series.before -> 'modified_series'), 0)
      ))
    );
  end
$$;
