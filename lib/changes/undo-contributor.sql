-- Takes an effect on a contributor back. It returns what it did in its turn, in the language of effects: what an edit
-- or a deletion replaced as `before`, a record that is there again as `after`, and as `left_out` what could not be.

-- The elements of a list that lead to a contributor or a series that is gone.
create function dangling_elements(target bigint, former jsonb) returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(missing order by cast(missing as text)), '[]')
  from (
    select left_out(
      'contributor/' || target, 'relations/' || (element ->> 'id'),
      format('Contributor %s is gone', element ->> 'relation_id'), 'contributor/' || (element ->> 'relation_id')
    )
    from jsonb_array_elements(
      coalesce(former -> 'removed_relations', '[]') || coalesce(former -> 'modified_relations', '[]')
      || coalesce(former -> 'relations', '[]')
    ) as element
    where
      element ->> 'relation_id' is not null
      and not exists (select from contributors where id = cast(element ->> 'relation_id' as bigint))
    union all
    select left_out(
      'contributor/' || (element ->> 'contributor_id'), 'relations/' || (element ->> 'id'),
      format('Contributor %s is gone', element ->> 'contributor_id'), 'contributor/' || (element ->> 'contributor_id')
    )
    from jsonb_array_elements(former -> 'incoming_relations') as element
    where not exists (select from contributors where id = cast(element ->> 'contributor_id' as bigint))
    union all
    select left_out(
      'contributor/' || target, 'series/' || (element ->> 'id'),
      format('Series %s is gone', element ->> 'id'), 'series/' || (element ->> 'id')
    )
    from jsonb_array_elements(
      coalesce(former -> 'removed_series', '[]') || coalesce(former -> 'series', '[]')
    ) as element
    where not exists (select from series where id = cast(element ->> 'id' as bigint))
  ) as left_out (missing)
$$;

-- Adds elements with the ids that they had. Returns the ids of those that were not there, null if there are none.
create function restore_aliases(target bigint, elements jsonb) returns jsonb language plpgsql as $$
  declare
    restored jsonb;
  begin
    if elements is null or elements = '[]' then
      return null;
    end if;
    with inserted as (
      insert into contributor_aliases (id, contributor_id, name)
      overriding system value
      select id, target, name
      from jsonb_populate_recordset(cast(null as contributor_aliases), elements)
      on conflict (id) do nothing
      returning id
    )
    select jsonb_agg(id order by id) into restored from inserted;
    return restored;
  end
$$;

create function restore_descriptions(target bigint, elements jsonb) returns jsonb language plpgsql as $$
  declare
    restored jsonb;
  begin
    if elements is null or elements = '[]' then
      return null;
    end if;
    with inserted as (
      insert into contributor_descriptions (id, contributor_id, language, description, source)
      overriding system value
      select id, target, language, description, source
      from jsonb_populate_recordset(cast(null as contributor_descriptions), elements)
      on conflict (id) do nothing
      returning id
    )
    select jsonb_agg(id order by id) into restored from inserted;
    return restored;
  end
$$;

-- Without a target each belongs to its own contributor. Those of somebody who is gone are left out.
create function restore_relations(target bigint, elements jsonb) returns jsonb language plpgsql as $$
  declare
    restored jsonb;
  begin
    if elements is null or elements = '[]' then
      return null;
    end if;
    with inserted as (
      insert into contributor_relations (id, contributor_id, relation_id, relation_type)
      overriding system value
      select id, coalesce(target, contributor_id), relation_id, relation_type
      from jsonb_populate_recordset(cast(null as contributor_relations), elements)
      where
        relation_id in (select id from contributors)
        and coalesce(target, contributor_id) in (select id from contributors)
      on conflict (id) do nothing
      returning id
    )
    select jsonb_agg(id order by id) into restored from inserted;
    return restored;
  end
$$;

create function restore_series(target bigint, elements jsonb) returns jsonb language plpgsql as $$
  declare
    restored jsonb;
  begin
    if elements is null or elements = '[]' then
      return null;
    end if;
    with inserted as (
      insert into series_contributors (contributor_id, series_id, role)
      select target, id, role
      from jsonb_to_recordset(elements) as element (id bigint, role text)
      where exists (select from series where series.id = element.id)
      on conflict (contributor_id, series_id) do nothing
      returning series_id
    )
    select jsonb_agg(series_id order by series_id) into restored from inserted;
    return restored;
  end
$$;

-- The former slugs that others have now.
create function taken_slugs(target bigint, slugs jsonb) returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(left_out(
    concat('contributor/', target), 'slugs/' || slug,
    concat(initcap(replace(holder, '/', ' ')), ' has ', slug, ' now'),
    holder, 'slugs/' || slug
  ) order by slug), '[]')
  from
    jsonb_array_elements_text(slugs) as slug
    cross join lateral holder_of('contributor', target, 'slug', slug) as holder
  where holder is not null
$$;

-- Gives former slugs back that nobody has now. Returns those that it did not have.
create function restore_slugs(target bigint, slugs jsonb) returns jsonb language plpgsql as $$
  declare
    restored jsonb;
  begin
    if slugs is null or slugs = '[]' then
      return null;
    end if;
    with inserted as (
      insert into former_slugs (slug, contributor_id)
      select slug, target
      from jsonb_array_elements_text(slugs) as slug
      where not slug_exists('contributors', slug)
      returning slug
    )
    select jsonb_agg(slug order by slug) into restored from inserted;
    return restored;
  end
$$;

-- Takes a contributor's former slugs back to what they were before an edit.
create function undo_slugs(target bigint, former jsonb) returns jsonb language plpgsql as $$
  declare
    removed jsonb;
  begin
    with deleted as (
      delete from former_slugs
      where
        contributor_id = target
        and slug in (select added from jsonb_array_elements_text(former -> 'added_slugs') as added)
      returning slug
    )
    select jsonb_agg(slug order by slug) into removed from deleted;
    return jsonb_strip_nulls(jsonb_build_object(
      'removed_slugs', removed, 'added_slugs', restore_slugs(target, former -> 'removed_slugs')
    ));
  end
$$;

-- Takes a contributor's series back to what they were before an edit.
create function undo_series(target bigint, former jsonb) returns jsonb language plpgsql as $$
  declare
    removed jsonb;
    modified jsonb;
  begin
    if coalesce(former -> 'added_series', former -> 'removed_series', former -> 'modified_series') is null then
      return '{}';
    end if;
    with deleted as (
      delete from series_contributors
      where contributor_id = target and series_id = any(ids(cast(former -> 'added_series' as json)))
      returning series_id as id, role
    )
    select jsonb_agg(to_jsonb(deleted) order by id) into removed from deleted;
    with updated as (
      update series_contributors as current
      set role = element.role
      from jsonb_to_recordset(former -> 'modified_series') as element (id bigint, role text)
      where contributor_id = target and series_id = element.id and current.role is distinct from element.role
      returning series_id as id, old.role
    )
    select jsonb_agg(to_jsonb(updated) order by id) into modified from updated;
    return (
      select coalesce(jsonb_object_agg(key, value), '{}')
      from (
        values
          ('removed_series', removed),
          ('modified_series', modified),
          ('added_series', restore_series(target, former -> 'removed_series'))
      ) as part (key, value)
      where value is not null
    );
  end
$$;

-- Refuses what would give somebody more elements than an edit may.
create function check_limits(targets bigint[]) returns void language plpgsql as $$
  declare
    excess text;
  begin
    select format('Contributor %s would have %s %s, and can have %s', target, number, kind, max_count) into excess
    from
      unnest(targets) as target
      cross join lateral (
        select 'aliases', count(*), 200 from contributor_aliases where contributor_id = target
        union all
        select 'descriptions', count(*), 40 from contributor_descriptions where contributor_id = target
        union all
        select 'relations', count(*), 100 from contributor_relations where contributor_id = target
        union all
        select 'links', count(*), 50 from contributor_links where contributor_id = target
      ) as element (kind, number, max_count)
    where number > max_count
    limit 1;
    if excess is not null then
      perform refuse_undo(excess);
    end if;
  end
$$;

-- What an edit can change in the row itself.
create function contributor_fields(fields contributors) returns json language sql immutable as $$
  select json_build_object(
    'first_name', fields.first_name, 'last_name', fields.last_name, 'gender', fields.gender, 'type', fields.type,
    'public', fields.public, 'image', fields.image, 'client_id', fields.client_id,
    'external_id', fields.external_id
  )
$$;

create function undo_contributor_edit(target bigint, effect jsonb) returns jsonb language plpgsql as $$
  declare
    former jsonb = effect -> 'before';
    fields contributors;
    before json;
    links jsonb;
    added_aliases bigint[];
    added_descriptions bigint[];
    modified_descriptions jsonb;
    added_relations bigint[];
    modified_relations jsonb;
    missing jsonb = dangling_elements(target, former);
    image_missing jsonb;
    changed jsonb;
  begin
    select * into fields from contributors where id = target;
    before = contributor_fields(fields);
    image_missing = left_out_image('contributor/' || target, former, fields.image);
    fields = jsonb_populate_record(fields, case when image_missing is null then former else former - 'image' end);

    -- A number stands for a link among the new ones.
    select coalesce(jsonb_agg(
      case jsonb_typeof(link) when 'number' then effect -> 'after' -> 'links' -> cast(link as integer) else link end
      order by place
    ), '[]')
    into links
    from jsonb_array_elements(former -> 'links') with ordinality as link (link, place);
    added_aliases = array(
      select id
      from contributor_aliases
      where contributor_id = target and id = any(ids(cast(former -> 'added_aliases' as json)))
    );
    added_descriptions = array(
      select id
      from contributor_descriptions
      where contributor_id = target and id = any(ids(cast(former -> 'added_descriptions' as json)))
    );
    added_relations = array(
      select id
      from contributor_relations
      where contributor_id = target and id = any(ids(cast(former -> 'added_relations' as json)))
    );
    select coalesce(jsonb_agg(element), '[]') into modified_descriptions
    from jsonb_array_elements(former -> 'modified_descriptions') as element
    where
      cast(element ->> 'id' as bigint) in (select id from contributor_descriptions where contributor_id = target);
    select coalesce(jsonb_agg(element), '[]') into modified_relations
    from jsonb_array_elements(former -> 'modified_relations') as element
    where
      cast(element ->> 'id' as bigint) in (select id from contributor_relations where contributor_id = target)
      and (
        element ->> 'relation_id' is null
        or cast(element ->> 'relation_id' as bigint) in (select id from contributors)
      );

    changed = replaced(before, contributor_fields(fields))
      || edit_aliases(target, null, added_aliases)
      || edit_descriptions(target, null, added_descriptions, cast(modified_descriptions as json))
      || edit_relations(target, null, added_relations, cast(modified_relations as json))
      || case when former -> 'links' is null then '{}' else edit_links(target, cast(links as json)) end
      || jsonb_strip_nulls(jsonb_build_object(
        'added_aliases', restore_aliases(target, former -> 'removed_aliases'),
        'added_descriptions', restore_descriptions(target, former -> 'removed_descriptions'),
        'added_relations', restore_relations(target, former -> 'removed_relations')
      ))
      || undo_series(target, former)
      || undo_slugs(target, former);
    missing = missing || taken_slugs(target, former -> 'removed_slugs');
    if changed -> 'added_aliases' is not null
      or changed -> 'added_descriptions' is not null
      or changed -> 'added_relations' is not null
    then
      perform check_limits(array[target]);
    end if;
    if changed -> 'image' is not null then
      perform schedule_removal(before, '1 hour');
    end if;
    update contributors
    set
      first_name = fields.first_name,
      last_name = fields.last_name,
      gender = fields.gender,
      type = fields.type,
      public = fields.public,
      image = fields.image,
      client_id = fields.client_id,
      external_id = fields.external_id,
      version = version + 1
    where id = target and changed <> '{}';
    return jsonb_build_object('before', changed, 'left_out', missing || coalesce(image_missing, '[]'));
  end
$$;

create function undo_contributor_deletion(target bigint, former jsonb, change_id bigint) returns jsonb
  language plpgsql as $$
  declare
    fields contributors = jsonb_populate_record(cast(null as contributors), former);
    missing jsonb = dangling_elements(target, former);
    image_missing jsonb = left_out_image('contributor/' || target, former, null);
    state jsonb;
  begin
    insert into contributors (
      id, external_id, client_id, first_name, last_name, slug, gender, type, public, image, random_key, version
    )
    overriding system value
    values (
      target, free_external_id('contributor', target, fields.external_id), fields.client_id, fields.first_name,
      fields.last_name, fields.slug, fields.gender, fields.type, fields.public,
      case when image_missing is null then fields.image end, coalesce(fields.random_key, random()),
      next_version('contributor', target, change_id, fields.version)
    );
    perform restore_slugs(target, former -> 'former_slugs');
    perform restore_aliases(target, former -> 'aliases');
    perform restore_descriptions(target, former -> 'descriptions');
    perform restore_relations(null, former -> 'relations');
    perform restore_relations(null, former -> 'incoming_relations');
    perform restore_series(target, former -> 'series');
    insert into contributor_links (contributor_id, position, url)
    select target, place - 1, url
    from jsonb_array_elements_text(former -> 'links') with ordinality as link (url, place);
    perform check_limits(array(select contributor_id from contributor_relations where relation_id = target) || target);
    state = contributor_record(target);
    return jsonb_build_object(
      'after', state,
      'left_out', missing || coalesce(image_missing, '[]') || taken_slugs(target, former -> 'former_slugs')
        || left_out_identifiers('contributor', target, former, state)
    );
  end
$$;

create function undo_contributor(target bigint, effect jsonb, change_id bigint) returns jsonb language plpgsql as $$
  declare
    before json;
  begin
    if effect ->> 'did' = 'edit' then
      return undo_contributor_edit(target, effect);
    end if;
    if effect ->> 'did' = 'delete' then
      return undo_contributor_deletion(target, effect -> 'before', change_id);
    end if;
    before = contributor_record(target);
    delete from contributors where id = target;
    perform schedule_removal(before, '1 hour');
    return jsonb_build_object('before', before, 'left_out', jsonb_build_array());
  end
$$;
