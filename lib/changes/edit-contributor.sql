-- The first invalid parameter, or null. Elements to remove or to modify must be the contributor's own, and with the
-- added ones there may not be too many.
create function invalid_parameter(
  kind text, added json, removed bigint[], modified json, held json, max_count integer
) returns text language plpgsql immutable as $$
  declare
    own bigint[] = ids(held);
  begin
    return case
      when not own @> removed then 'removed_' || kind
      when not own @> ids(modified) then 'modified_' || kind
      when json_array_length(added) > 0 and json_array_length(added) + cardinality(own) - cardinality(removed) > max_count
        then 'added_' || kind
    end;
  end
$$;

-- Whether a relation leads to a missing contributor, or to the contributor itself.
create function has_invalid_relation(relations json, target bigint) returns boolean language plpgsql stable as $$
  begin
    return json_array_length(relations) > 0 and exists (
      select
      from json_to_recordset(relations) as relation (relation_id bigint)
      where relation_id = target or relation_id is not null and relation_id not in (select id from contributors)
    );
  end
$$;

-- POST /admin-contributors/edit/{id}. An element that is both modified and removed is removed.
create function edit_contributor(request request) returns outcome language plpgsql as $$
  declare
    target bigint = request.target;
    asked json = request.asked;
    removed_aliases bigint[] = ids(asked -> 'removed_aliases');
    removed_descriptions bigint[] = ids(asked -> 'removed_descriptions');
    removed_relations bigint[] = ids(asked -> 'removed_relations');
    before json;
    invalid text;
  begin
    perform from contributors where id = target for no key update;
    before = contributor_record(target);
    if record_error(request, before) > 0 then
      return refused(record_error(request, before));
    end if;

    invalid = coalesce(
      invalid_parameter('aliases', asked -> 'added_aliases', removed_aliases, null, before -> 'aliases', 200),
      invalid_parameter(
        'descriptions', asked -> 'added_descriptions', removed_descriptions, asked -> 'modified_descriptions',
        before -> 'descriptions', 40
      ),
      invalid_parameter(
        'relations', asked -> 'added_relations', removed_relations, asked -> 'modified_relations',
        before -> 'relations', 100
      ),
      case when has_invalid_relation(asked -> 'added_relations', target) then 'added_relations' end,
      case when has_invalid_relation(asked -> 'modified_relations', target) then 'modified_relations' end
    );
    if invalid is not null then
      return refused(400, invalid);
    end if;
    if identity_key(asked ->> 'first_name') <> identity_key(before ->> 'first_name')
      or identity_key(asked ->> 'last_name') <> identity_key(before ->> 'last_name')
    then
      if is_name_taken(asked) then
        return refused(409);
      end if;
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

    if removed_aliases <> '{}' then
      delete from contributor_aliases where id = any(removed_aliases);
    end if;
    if json_array_length(asked -> 'added_aliases') > 0 then
      insert into contributor_aliases (contributor_id, name)
      select target, json_array_elements_text(asked -> 'added_aliases');
    end if;

    if json_array_length(asked -> 'modified_descriptions') > 0 then
      update contributor_descriptions as kept
      set
        description = coalesce(given.description, kept.description),
        language = coalesce(given.language, kept.language),
        source = coalesce(given.source, kept.source)
      from json_populate_recordset(cast(null as contributor_descriptions), asked -> 'modified_descriptions') as given
      where kept.id = given.id;
    end if;
    if removed_descriptions <> '{}' then
      delete from contributor_descriptions where id = any(removed_descriptions);
    end if;
    if json_array_length(asked -> 'added_descriptions') > 0 then
      insert into contributor_descriptions (contributor_id, description, language, source)
      select target, description, language, source
      from json_populate_recordset(cast(null as contributor_descriptions), asked -> 'added_descriptions');
    end if;

    if json_array_length(asked -> 'modified_relations') > 0 then
      update contributor_relations as kept
      set
        relation_id = coalesce(given.relation_id, kept.relation_id),
        relation_type = coalesce(given.relation_type, kept.relation_type)
      from json_populate_recordset(cast(null as contributor_relations), asked -> 'modified_relations') as given
      where kept.id = given.id;
    end if;
    if removed_relations <> '{}' then
      delete from contributor_relations where id = any(removed_relations);
    end if;
    if json_array_length(asked -> 'added_relations') > 0 then
      insert into contributor_relations (contributor_id, relation_id, relation_type)
      select target, relation_id, relation_type
      from json_populate_recordset(cast(null as contributor_relations), asked -> 'added_relations');
    end if;

    if cast(asked -> 'links' as text) <> cast(before -> 'links' as text) then
      delete from contributor_links where contributor_id = target;
      insert into contributor_links (contributor_id, position, url)
      select target, row_number() over (order by min(position)) - 1, url
      from json_array_elements_text(asked -> 'links') with ordinality as link (url, position)
      group by url;
    end if;

    delete from contributor_locks where contributor_id = target and holder_id = request.caller;
    return done(request, before);
  end
$$;
