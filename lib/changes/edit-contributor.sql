-- The first invalid parameter, or null. Modified elements must belong to the contributor, and added elements may not
-- exceed the maximum. A removed element may not belong to another contributor, but it may be missing, since another tab
-- may have removed it.
create function elements_error(
  kind text, input json, current bigint[], is_of_another boolean, max_count integer
) returns outcome
  language plpgsql immutable as $$
  declare
    added_count integer = json_array_length(input -> ('added_' || kind));
    remaining bigint[] = without(current, ids(input -> ('removed_' || kind)));
  begin
    return case
      when is_of_another then invalid('removed_' || kind, 'unknown')
      when not current @> ids(input -> ('modified_' || kind)) then invalid('modified_' || kind, 'unknown')
      when added_count > 0 and added_count + cardinality(remaining) > max_count
        then invalid('added_' || kind, 'long')
    end;
  end
$$;

-- Whether a relation references a missing contributor or the edited one.
create function has_invalid_relation(relations json, target bigint) returns boolean language sql stable as $$
  select exists (
    select
    from json_to_recordset(relations) as relation (relation_id bigint) left join contributors on id = relation_id
    where relation_id is not null and coalesce(id, target) = target
  )
$$;

-- POST /admin-contributors/edit/{id}. What the input leaves out stays.
create function edit_contributor(request request, caller caller) returns outcome language plpgsql as $$
  declare
    target bigint = request.target;
    input json = request.input;
    current contributors;
    fields contributors;
    removed_aliases bigint[] = ids(input -> 'removed_aliases');
    removed_descriptions bigint[] = ids(input -> 'removed_descriptions');
    removed_relations bigint[] = ids(input -> 'removed_relations');
    repeated text;
    error outcome;
  begin
    select * into current from contributors where id = target;
    fields = json_populate_record(current, input);
    fields.sort_name = nullif(fields.sort_name, default_sort_name(fields.first_name, fields.last_name));
    if edits_elements(input) then
      input = cast(input as jsonb) || jsonb_build_object(
        'added_aliases',
        missing_aliases(fields, removed_aliases, array(select json_array_elements_text(input -> 'added_aliases'))),
        'added_descriptions', missing_descriptions(target, removed_descriptions, input -> 'added_descriptions'),
        'added_relations',
        missing_relations(target, removed_relations, input -> 'modified_relations', input -> 'added_relations')
      );
      repeated = repeated_description(
        target, removed_descriptions, input -> 'modified_descriptions', input -> 'added_descriptions'
      );
      error = coalesce(
        elements_error(
          'aliases', input, array(select id from contributor_aliases where contributor_id = target),
          exists (select from contributor_aliases where id = any(removed_aliases) and contributor_id <> target), 200
        ),
        elements_error(
          'descriptions', input, array(select id from contributor_descriptions where contributor_id = target),
          exists (
            select from contributor_descriptions where id = any(removed_descriptions) and contributor_id <> target
          ),
          40
        ),
        elements_error(
          'relations', input, array(select id from contributor_relations where contributor_id = target),
          exists (select from contributor_relations where id = any(removed_relations) and contributor_id <> target), 100
        ),
        case when repeated is not null then invalid(repeated, 'repeated') end,
        case
          when has_invalid_relation(input -> 'added_relations', target) then invalid('added_relations', 'unknown')
        end,
        case
          when has_invalid_relation(input -> 'modified_relations', target) then invalid('modified_relations', 'unknown')
        end
      );
    end if;
    if error.status is not null then
      return error;
    end if;
    if identity_key(fields.first_name) <> identity_key(current.first_name)
      or identity_key(fields.last_name) <> identity_key(current.last_name)
      or identity_key(fields.disambiguation) <> identity_key(current.disambiguation)
    then
      if is_name_taken(fields) then
        return refused(409);
      end if;
      -- An alias that equals the new name is removed.
      removed_aliases = removed_aliases || array(
        select id
        from contributor_aliases
        where contributor_id = target and identity_key(name) = identity_key(full_name(fields))
      );
    end if;

    perform edit_aliases(target, removed_aliases, input -> 'added_aliases');
    perform edit_descriptions(
      target, removed_descriptions, input -> 'modified_descriptions', input -> 'added_descriptions'
    );
    perform edit_relations(target, removed_relations, input -> 'modified_relations', input -> 'added_relations');
    perform edit_links(target, input -> 'links');
    -- A statement that sets names computes all their keys again, so an edit without names has one of its own. All other
    -- columns stand in both.
    if (fields.first_name, fields.last_name, fields.disambiguation, fields.sort_name)
      is distinct from (current.first_name, current.last_name, current.disambiguation, current.sort_name)
    then
      update contributors
      set
        first_name = fields.first_name,
        last_name = fields.last_name,
        disambiguation = fields.disambiguation,
        sort_name = fields.sort_name,
        gender = fields.gender,
        type = fields.type,
        public = fields.public,
        version = version + 1
      where id = target;
    elsif fields is distinct from current or has_changed() then
      update contributors
      set
        gender = fields.gender,
        type = fields.type,
        public = fields.public,
        version = version + 1
      where id = target;
    end if;
    delete from contributor_locks where contributor_id = target and editor_id = caller.id;
    return done(request, caller, takes_authority => false);
  end
$$;
