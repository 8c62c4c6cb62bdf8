create function full_name(fields contributors) returns text language sql immutable as $$
  select concat_ws(' ', fields.first_name, fields.last_name)
$$;

-- Whether an edit adds, modifies or removes any element; most do not.
create function edits_elements(input json) returns boolean language sql immutable as $$
  select greatest(
    json_array_length(input -> 'added_aliases'), json_array_length(input -> 'removed_aliases'),
    json_array_length(input -> 'added_descriptions'), json_array_length(input -> 'modified_descriptions'),
    json_array_length(input -> 'removed_descriptions'), json_array_length(input -> 'added_relations'),
    json_array_length(input -> 'modified_relations'), json_array_length(input -> 'removed_relations')
  ) > 0
$$;

-- The names, each once, that are neither the contributor's name nor one of the aliases that it keeps.
create function missing_aliases(owner contributors, removed bigint[], names text[]) returns jsonb
  language sql stable as $$
  with known as (
    select identity_key(full_name(owner)) as key
    union all
    select identity_key(name) from contributor_aliases where contributor_id = owner.id and id <> all(removed)
  )
  select coalesce(jsonb_agg(jsonb_build_object('name', name) order by position), '[]')
  from (
    select distinct on (identity_key(name)) name, position
    from unnest(names) with ordinality as alias (name, position)
    where identity_key(name) not in (select key from known)
    order by identity_key(name), position
  ) as alias
$$;

-- The relations, each once, that the contributor lacks after the edit has removed and modified others.
create function missing_relations(owner bigint, removed bigint[], modified json, relations json) returns json
  language sql stable as $$
  with known as (
    select
      coalesce(input.relation_id, current.relation_id) as relation_id,
      coalesce(input.relation_type, current.relation_type) as relation_type
    from
      contributor_relations as current
      left join json_populate_recordset(cast(null as contributor_relations), modified) as input on input.id = current.id
    where current.contributor_id = owner and current.id <> all(removed)
  )
  select coalesce(json_agg(element order by position), '[]')
  from (
    select distinct on (element ->> 'relation_id', element ->> 'relation_type') element, position
    from json_array_elements(relations) with ordinality as relation (element, position)
    where
      (cast(element ->> 'relation_id' as bigint), element ->> 'relation_type')
        not in (select relation_id, relation_type from known)
    order by element ->> 'relation_id', element ->> 'relation_type', position
  ) as relation
$$;

-- The descriptions, each once, that the contributor lacks after the edit has removed others.
create function missing_descriptions(owner bigint, removed bigint[], descriptions json) returns json
  language sql stable as $$
  select coalesce(json_agg(element order by position), '[]')
  from (
    select distinct on (cast(element as text)) element, position
    from
      json_array_elements(descriptions) with ordinality as list (element, position)
      cross join lateral json_populate_record(cast(null as contributor_descriptions), element) as input
    where not exists (
      select
      from contributor_descriptions as current
      where
        current.contributor_id = owner
        and current.id <> all(removed)
        and (current.language, current.source, current.description)
          = (input.language, input.source, input.description)
    )
    order by cast(element as text), position
  ) as description
$$;

-- The parameter by which a contributor would get a second description of a language and source; null if by none.
create function repeated_description(owner bigint, removed bigint[], modified json, added json) returns text
  language sql stable as $$
  select case when bool_or(is_added) then 'added_descriptions' else 'modified_descriptions' end
  from (
    select
      coalesce(input.language, current.language) as language, coalesce(input.source, current.source) as source,
      input.id is not null as is_new, false as is_added
    from
      contributor_descriptions as current
      left join json_populate_recordset(cast(null as contributor_descriptions), modified) as input
        on input.id = current.id
    where current.contributor_id = owner and current.id <> all(removed)
    union all
    select language, source, true, true
    from json_populate_recordset(cast(null as contributor_descriptions), added)
  ) as description
  group by identity_key(language), identity_key(source)
  having count(*) > 1 and bool_or(is_new)
  order by bool_or(is_added) desc
  limit 1
$$;

-- Edits the aliases of a contributor. Here as below, what is both changed and removed is removed, and a statement runs
-- only if it has something to do, since it runs triggers even if it touches no row.
create function edit_aliases(target bigint, removed bigint[], added json) returns void language plpgsql as $$
  begin
    if removed <> '{}' then
      delete from contributor_aliases where contributor_id = target and id = any(removed);
    end if;
    if json_array_length(added) > 0 then
      insert into contributor_aliases (contributor_id, name)
      select target, element ->> 'name'
      from json_array_elements(added) with ordinality as list (element, position)
      order by position;
    end if;
  end
$$;

-- One element of each id, with the fields of all; of a field the last value.
create function by_id(elements json) returns jsonb language sql immutable as $$
  select jsonb_agg(fields)
  from (
    select jsonb_object_agg(name, value order by position) as fields
    from
      jsonb_array_elements(cast(elements as jsonb)) with ordinality as list (element, position)
      cross join lateral jsonb_each(element) as field (name, value)
    group by element -> 'id'
  ) as element
$$;

create function edit_descriptions(target bigint, removed bigint[], modified json, added json) returns void
  language plpgsql as $$
  begin
    if removed <> '{}' then
      delete from contributor_descriptions where contributor_id = target and id = any(removed);
    end if;
    if json_array_length(modified) > 0 then
      update contributor_descriptions as current
      set
        language = coalesce(input.language, current.language),
        description = coalesce(input.description, current.description),
        source = coalesce(input.source, current.source)
      from jsonb_populate_recordset(cast(null as contributor_descriptions), by_id(modified)) as input
      where current.contributor_id = target and current.id = input.id;
    end if;
    if json_array_length(added) > 0 then
      insert into contributor_descriptions (contributor_id, language, description, source)
      select target, element ->> 'language', element ->> 'description', element ->> 'source'
      from json_array_elements(added) with ordinality as list (element, position)
      order by position;
    end if;
  end
$$;

create function edit_relations(target bigint, removed bigint[], modified json, added json) returns void
  language plpgsql as $$
  begin
    if removed <> '{}' then
      delete from contributor_relations where contributor_id = target and id = any(removed);
    end if;
    if json_array_length(modified) > 0 then
      update contributor_relations as current
      set
        relation_id = coalesce(input.relation_id, current.relation_id),
        relation_type = coalesce(input.relation_type, current.relation_type)
      from jsonb_populate_recordset(cast(null as contributor_relations), by_id(modified)) as input
      where current.contributor_id = target and current.id = input.id;
    end if;
    if json_array_length(added) > 0 then
      insert into contributor_relations (contributor_id, relation_id, relation_type)
      select target, cast(element ->> 'relation_id' as bigint), element ->> 'relation_type'
      from json_array_elements(added) with ordinality as list (element, position)
      order by position;
    end if;
  end
$$;

-- Replaces the links, if the request has some, each at its position.
create function edit_links(target bigint, links json) returns void language plpgsql as $$
  declare
    latest text[];
  begin
    if links is null then
      return;
    end if;
    latest = array(
      select url
      from json_array_elements_text(links) with ordinality as link (url, position)
      group by url
      order by min(position)
    );
    if latest = array(select url from contributor_links where contributor_id = target order by position) then
      return;
    end if;
    delete from contributor_links where contributor_id = target and position >= cardinality(latest);
    insert into contributor_links as current (contributor_id, position, url)
    select target, position - 1, url
    from unnest(latest) with ordinality as link (url, position)
    on conflict (contributor_id, position) do update
    set url = excluded.url
    where current.url <> excluded.url;
  end
$$;
