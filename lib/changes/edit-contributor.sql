-- The first invalid parameter, or null. Elements to remove or to modify must be the contributor's own, and with the
-- added ones there may not be too many.
create function invalid_parameter(
  kind text, added json, removed bigint[], modified json, own bigint[], max_count integer
) returns text language plpgsql immutable as $$
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

-- The fields that an edit replaces, and the version.
create function editable_fields(target bigint) returns json language sql stable as $$
  select row_to_json(contributor)
  from (
    select first_name, last_name, gender, type, public, version from contributors where id = target
  ) as contributor
$$;

-- POST /admin-contributors/edit/{id}
create function edit_contributor(request request) returns outcome language plpgsql as $$
  declare
    target bigint = request.target;
    asked json = request.asked;
    removed_aliases bigint[] = ids(asked -> 'removed_aliases');
    removed_descriptions bigint[] = ids(asked -> 'removed_descriptions');
    removed_relations bigint[] = ids(asked -> 'removed_relations');
    before json;
    invalid text;
    changed jsonb;
  begin
    perform from contributors where id = target for no key update;
    before = editable_fields(target);
    if record_error(request, before) > 0 then
      return refused(record_error(request, before));
    end if;

    invalid = coalesce(
      invalid_parameter(
        'aliases', asked -> 'added_aliases', removed_aliases, null,
        array(select id from contributor_aliases where contributor_id = target), 200
      ),
      invalid_parameter(
        'descriptions', asked -> 'added_descriptions', removed_descriptions, asked -> 'modified_descriptions',
        array(select id from contributor_descriptions where contributor_id = target), 40
      ),
      invalid_parameter(
        'relations', asked -> 'added_relations', removed_relations, asked -> 'modified_relations',
        array(select id from contributor_relations where contributor_id = target), 100
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
      public = cast(asked ->> 'public' as boolean)
    where id = target;
    changed = replaced(before, editable_fields(target))
      || edit_aliases(target, asked -> 'added_aliases', removed_aliases)
      || edit_descriptions(
        target, asked -> 'added_descriptions', removed_descriptions, asked -> 'modified_descriptions'
      )
      || edit_relations(target, asked -> 'added_relations', removed_relations, asked -> 'modified_relations')
      || edit_links(target, asked -> 'links');
    delete from contributor_locks where contributor_id = target and holder_id = request.caller;
    update contributors set version = version + 1 where id = target and changed <> '{}';
    return edited(request, changed);
  end
$$;
