create function full_name(fields contributors) returns text language sql immutable as $$
  select concat_ws(' ', fields.first_name, fields.last_name)
$$;

-- Those of the names, each once, that a contributor has neither as its name nor as an alias that stays.
create function missing_aliases(owner contributors, removed bigint[], names text[]) returns text[]
  language sql stable as $$
  with known as (
    select identity_key(full_name(owner)) as key
    union all
    select identity_key(name) from contributor_aliases where contributor_id = owner.id and id <> all(removed)
  )
  select array(
    select name
    from (
      select distinct on (identity_key(name)) name, place
      from unnest(names) with ordinality as alias (name, place)
      where identity_key(name) not in (select key from known)
      order by identity_key(name), place
    ) as alias
    order by place
  )
$$;

-- Those of the relations, each once, that a contributor does not have when others are removed and modified.
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
  select coalesce(json_agg(element order by place), '[]')
  from (
    select distinct on (element ->> 'relation_id', element ->> 'relation_type') element, place
    from json_array_elements(relations) with ordinality as relation (element, place)
    where
      (cast(element ->> 'relation_id' as bigint), element ->> 'relation_type')
        not in (select relation_id, relation_type from known)
    order by element ->> 'relation_id', element ->> 'relation_type', place
  ) as relation
$$;

-- Each function edits elements of a contributor, and returns what the ledger needs in order to undo that, by the names
-- of the request: the ids of added elements, removed elements as they were, and the former fields of modified ones. A
-- statement runs only if it has something to do, since it runs triggers even if it touches no row.

create function edit_aliases(target bigint, added json, removed bigint[]) returns jsonb language plpgsql as $$
  declare
    changed jsonb = '{}';
  begin
    if removed <> '{}' then
      with deleted as (
        delete from contributor_aliases where id = any(removed) returning id, name
      )
      select changed || jsonb_build_object('removed_aliases', jsonb_agg(to_jsonb(deleted) order by id)) into changed
      from deleted;
    end if;
    if json_array_length(added) > 0 then
      with inserted as (
        insert into contributor_aliases (contributor_id, name)
        select target, json_array_elements_text(added)
        returning id
      )
      select changed || jsonb_build_object('added_aliases', jsonb_agg(id order by id)) into changed from inserted;
    end if;
    return changed;
  end
$$;

-- An element that is both modified and removed is removed.
create function edit_descriptions(target bigint, added json, removed bigint[], modified json) returns jsonb
  language plpgsql as $$
  declare
    changed jsonb = '{}';
  begin
    if removed <> '{}' then
      with deleted as (
        delete from contributor_descriptions where id = any(removed) returning id, language, description, source
      )
      select changed || jsonb_build_object('removed_descriptions', jsonb_agg(to_jsonb(deleted) order by id))
      into changed
      from deleted;
    end if;
    if json_array_length(modified) > 0 then
      with updated as (
        update contributor_descriptions as current
        set
          description = coalesce(input.description, current.description),
          language = coalesce(input.language, current.language),
          source = coalesce(input.source, current.source)
        from json_populate_recordset(cast(null as contributor_descriptions), modified) as input
        where current.id = input.id
        returning
          old.id,
          nullif(old.description, new.description) as description,
          nullif(old.language, new.language) as language,
          nullif(old.source, new.source) as source
      )
      select
        changed || jsonb_strip_nulls(jsonb_build_object(
          'modified_descriptions', jsonb_agg(to_jsonb(updated) order by id)
        ))
      into changed
      from updated
      where num_nonnulls(description, language, source) > 0;
    end if;
    if json_array_length(added) > 0 then
      with inserted as (
        insert into contributor_descriptions (contributor_id, description, language, source)
        select target, description, language, source
        from json_populate_recordset(cast(null as contributor_descriptions), added)
        returning id
      )
      select changed || jsonb_build_object('added_descriptions', jsonb_agg(id order by id)) into changed from inserted;
    end if;
    return changed;
  end
$$;

create function edit_relations(target bigint, added json, removed bigint[], modified json) returns jsonb
  language plpgsql as $$
  declare
    changed jsonb = '{}';
  begin
    if removed <> '{}' then
      with deleted as (
        delete from contributor_relations where id = any(removed) returning id, relation_id, relation_type
      )
      select changed || jsonb_build_object('removed_relations', jsonb_agg(to_jsonb(deleted) order by id)) into changed
      from deleted;
    end if;
    if json_array_length(modified) > 0 then
      with updated as (
        update contributor_relations as current
        set
          relation_id = coalesce(input.relation_id, current.relation_id),
          relation_type = coalesce(input.relation_type, current.relation_type)
        from json_populate_recordset(cast(null as contributor_relations), modified) as input
        where current.id = input.id
        returning
          old.id,
          nullif(old.relation_id, new.relation_id) as relation_id,
          nullif(old.relation_type, new.relation_type) as relation_type
      )
      select
        changed || jsonb_strip_nulls(jsonb_build_object(
          'modified_relations', jsonb_agg(to_jsonb(updated) order by id)
        ))
      into changed
      from updated
      where num_nonnulls(relation_id, relation_type) > 0;
    end if;
    if json_array_length(added) > 0 then
      with inserted as (
        insert into contributor_relations (contributor_id, relation_id, relation_type)
        select target, relation_id, relation_type
        from json_populate_recordset(cast(null as contributor_relations), added)
        returning id
      )
      select changed || jsonb_build_object('added_relations', jsonb_agg(id order by id)) into changed from inserted;
    end if;
    return changed;
  end
$$;

-- Replaces the links, if the request has some. Returns the former ones in their order; a number stands for a link that
-- is now at this place, so that a request which repeats fifty links and drops one adds only that one to the ledger.
create function edit_links(target bigint, links json) returns jsonb language plpgsql as $$
  declare
    former text[] = array(select url from contributor_links where contributor_id = target order by position);
    latest text[] = array(
      select url
      from json_array_elements_text(links) with ordinality as link (url, position)
      group by url
      order by min(position)
    );
  begin
    if links is null or latest = former then
      return '{}';
    end if;
    delete from contributor_links where contributor_id = target;
    insert into contributor_links (contributor_id, position, url)
    select target, position - 1, url
    from unnest(latest) with ordinality as link (url, position);
    return jsonb_build_object('links', array(
      select coalesce(to_jsonb(array_position(latest, url) - 1), to_jsonb(url))
      from unnest(former) with ordinality as link (url, position)
      order by position
    ));
  end
$$;
