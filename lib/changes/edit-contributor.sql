-- Whether relations lead to nobody, or to the contributor itself.
create function is_unrelatable(relations json, target bigint) returns boolean language sql stable as $$
  select exists (
    select
    from json_to_recordset(relations) as relation (relation_id bigint)
    where relation_id = target or relation_id is not null and relation_id not in (select id from contributors)
  )
$$;

-- POST /admin-contributors/edit/{id}. What is both modified and removed is removed. Elements must be the contributor's.
create function edit_contributor(request request) returns outcome language plpgsql as $$
  declare
    target bigint = request.target;
    asked json = request.asked;
    before json;
    removed_aliases bigint[] = ids(asked -> 'removed_aliases');
    removed_descriptions bigint[] = ids(asked -> 'removed_descriptions');
    removed_relations bigint[] = ids(asked -> 'removed_relations');
    invalid text;
  begin
    perform lock_contributor_name(asked);
    perform from contributors where id = target for no key update;
    before = contributor_record(target);
    if objection(request, before) > 0 then
      return refused(objection(request, before));
    end if;

    invalid = case
      when not ids(before -> 'aliases') @> removed_aliases then 'removed_aliases'
      when not ids(before -> 'descriptions') @> removed_descriptions then 'removed_descriptions'
      when not ids(before -> 'descriptions') @> ids(asked -> 'modified_descriptions') then 'modified_descriptions'
      when not ids(before -> 'relations') @> removed_relations then 'removed_relations'
      when not ids(before -> 'relations') @> ids(asked -> 'modified_relations') then 'modified_relations'
      when is_unrelatable(asked -> 'added_relations', target) then 'added_relations'
      when is_unrelatable(asked -> 'modified_relations', target) then 'modified_relations'
      when exceeds_limit(asked -> 'added_aliases', before -> 'aliases', removed_aliases, 200) then 'added_aliases'
      when exceeds_limit(asked -> 'added_descriptions', before -> 'descriptions', removed_descriptions, 40)
        then 'added_descriptions'
      when exceeds_limit(asked -> 'added_relations', before -> 'relations', removed_relations, 100)
        then 'added_relations'
    end;
    if invalid is not null then
      return refused(400, invalid);
    end if;
    if is_contributor_name_taken(asked, target) then
      return refused(409);
    end if;

    update contributors
    set
      first_name = asked ->> 'first_name',
      last_name = asked ->> 'last_name',
      gender = asked ->> 'gender',
      type = asked ->> 'type',
      public = cast(asked ->> 'public' as boolean),
      version = version + 1
    where id = target;

    delete from contributor_aliases where id = any(removed_aliases);
    insert into contributor_aliases (contributor_id, name)
    select target, name
    from json_array_elements_text(asked -> 'added_aliases') with ordinality as alias (name, position)
    order by position;

    update contributor_descriptions as kept
    set
      description = coalesce(given.description, kept.description),
      language = coalesce(given.language, kept.language),
      source = coalesce(given.source, kept.source)
    from json_populate_recordset(cast(null as contributor_descriptions), asked -> 'modified_descriptions') as given
    where kept.id = given.id;
    delete from contributor_descriptions where id = any(removed_descriptions);
    insert into contributor_descriptions (contributor_id, description, language, source)
    select target, description, language, source
    from json_populate_recordset(cast(null as contributor_descriptions), asked -> 'added_descriptions');

    update contributor_relations as kept
    set
      relation_id = coalesce(given.relation_id, kept.relation_id),
      relation_type = coalesce(given.relation_type, kept.relation_type)
    from json_populate_recordset(cast(null as contributor_relations), asked -> 'modified_relations') as given
    where kept.id = given.id;
    delete from contributor_relations where id = any(removed_relations);
    insert into contributor_relations (contributor_id, relation_id, relation_type)
    select target, relation_id, relation_type
    from json_populate_recordset(cast(null as contributor_relations), asked -> 'added_relations');

    delete from contributor_links where contributor_id = target;
    insert into contributor_links (contributor_id, position, url)
    select target, row_number() over (order by min(position)) - 1, url
    from json_array_elements_text(asked -> 'links') with ordinality as link (url, position)
    group by url;

    delete from contributor_locks where contributor_id = target and holder_id = request.caller;
    return done(request, before);
  end
$$;

-- Whether more elements are added than a record may have, once the removed ones are gone.
create function exceeds_limit(added json, kept json, removed bigint[], most integer) returns boolean
  language sql immutable as $$
  select
    json_array_length(added) > 0
    and json_array_length(added) + json_array_length(kept) - cardinality(removed) > most
$$;
