-- Takes effects on publishers, series, tags and clients back, as undo-contributor.sql does those on contributors. An
-- edit has whole lists as they were, so a list becomes that again, row by row.

-- What leads to a publisher, a tag or a client, for when that is deleted.
create function publisher_with_references(target bigint) returns jsonb language sql stable as $$
  select publisher_record(target) || jsonb_build_object(
    'relations_to_it',
    array(
      select to_jsonb(relation) from publisher_relations as relation where relation_id = target order by id
    ),
    'series',
    array(select series_id from series_publishers where publisher_id = target order by series_id)
  )
$$;

create function tag_with_series(target bigint) returns jsonb language sql stable as $$
  select tag_record(target) || jsonb_build_object(
    'series', array(select series_id from series_tags where tag_id = target order by series_id)
  )
$$;

-- The elements of a list that lead to what is gone.
create function gone_elements(own text, list text, kind text, elements jsonb, present bigint[]) returns jsonb
  language sql immutable as $$
  select coalesce(
    jsonb_agg(left_out(
      own, concat_ws('/', list, element ->> 'id'), format('%s %s is gone', initcap(kind), other),
      concat_ws('/', kind, other)
    )),
    '[]'
  )
  from
    jsonb_array_elements(elements) as element
    cross join lateral coalesce(cast(element ->> 'relation_id' as bigint), cast(element ->> 'id' as bigint)) as other
  where other <> all(present)
$$;

-- Makes the lists of a publisher those that are given. Returns what was left out.
create function restore_publisher_lists(target bigint, lists jsonb) returns jsonb language plpgsql as $$
  declare
    related bigint[] = array(
      select id
      from publishers
      where id in (select relation_id from jsonb_to_recordset(lists -> 'relations') as element (relation_id bigint))
    );
  begin
    if lists -> 'aliases' is not null then
      delete from publisher_aliases
      where publisher_id = target and id <> all(ids(cast(lists -> 'aliases' as json)));
      insert into publisher_aliases (id, publisher_id, title, language)
      overriding system value
      select id, target, title, language
      from jsonb_populate_recordset(cast(null as publisher_aliases), lists -> 'aliases')
      on conflict (id) do update
      set title = excluded.title, language = excluded.language;
    end if;
    if lists -> 'descriptions' is not null then
      delete from publisher_descriptions
      where publisher_id = target and id <> all(ids(cast(lists -> 'descriptions' as json)));
      insert into publisher_descriptions (id, publisher_id, language, description, source)
      overriding system value
      select id, target, language, description, source
      from jsonb_populate_recordset(cast(null as publisher_descriptions), lists -> 'descriptions')
      on conflict (id) do update
      set language = excluded.language, description = excluded.description, source = excluded.source;
    end if;
    if lists -> 'relations' is not null then
      delete from publisher_relations
      where publisher_id = target and id <> all(ids(cast(lists -> 'relations' as json)));
      insert into publisher_relations (id, publisher_id, relation_id, type)
      overriding system value
      select id, target, relation_id, type
      from jsonb_populate_recordset(cast(null as publisher_relations), lists -> 'relations')
      where relation_id = any(related)
      on conflict (id) do update
      set relation_id = excluded.relation_id, type = excluded.type;
    end if;
    return gone_elements('publisher/' || target, 'relations', 'publisher', lists -> 'relations', related);
  end
$$;

-- The same of a series.
create function restore_series_lists(target bigint, lists jsonb) returns jsonb language plpgsql as $$
  declare
    own text = 'series/' || target;
    present_tags bigint[] = array(select id from tags where id = any(ids(cast(lists -> 'tags' as json))));
    present_contributors bigint[] = array(
      select id from contributors where id = any(ids(cast(lists -> 'contributors' as json)))
    );
    present_publishers bigint[] = array(
      select id from publishers where id = any(ids(cast(lists -> 'publishers' as json)))
    );
  begin
    if lists -> 'aliases' is not null then
      delete from series_aliases where series_id = target and id <> all(ids(cast(lists -> 'aliases' as json)));
      insert into series_aliases (id, series_id, name, language)
      overriding system value
      select id, target, name, language
      from jsonb_to_recordset(lists -> 'aliases') as element (id bigint, name text, language text)
      on conflict (id) do update
      set name = excluded.name, language = excluded.language;
    end if;
    if lists -> 'descriptions' is not null then
      delete from series_descriptions
      where series_id = target and id <> all(ids(cast(lists -> 'descriptions' as json)));
      insert into series_descriptions (id, series_id, language, description)
      overriding system value
      select id, target, language, description
      from jsonb_populate_recordset(cast(null as series_descriptions), lists -> 'descriptions')
      on conflict (id) do update
      set language = excluded.language, description = excluded.description;
    end if;
    if lists -> 'volumes' is not null then
      delete from volumes where series_id = target and id <> all(ids(cast(lists -> 'volumes' as json)));
      insert into volumes (id, series_id, number, cover, aspect_ratio, nsfw, nsfw18)
      overriding system value
      select id, target, number, cover, aspect_ratio, nsfw, nsfw18
      from jsonb_populate_recordset(cast(null as volumes), lists -> 'volumes')
      on conflict (id) do update
      set
        number = excluded.number,
        cover = excluded.cover,
        aspect_ratio = excluded.aspect_ratio,
        nsfw = excluded.nsfw,
        nsfw18 = excluded.nsfw18;
    end if;
    if lists -> 'tags' is not null then
      delete from series_tags where series_id = target and tag_id <> all(present_tags);
      insert into series_tags (series_id, tag_id) select target, unnest(present_tags) on conflict do nothing;
    end if;
    if lists -> 'contributors' is not null then
      delete from series_contributors where series_id = target and contributor_id <> all(present_contributors);
      insert into series_contributors (series_id, contributor_id, role)
      select target, id, role
      from jsonb_to_recordset(lists -> 'contributors') as element (id bigint, role text)
      where id = any(present_contributors)
      on conflict (contributor_id, series_id) do update
      set role = excluded.role;
    end if;
    if lists -> 'publishers' is not null then
      delete from series_publishers where series_id = target and publisher_id <> all(present_publishers);
      insert into series_publishers (series_id, publisher_id)
      select target, unnest(present_publishers)
      on conflict do nothing;
    end if;
    return gone_elements(own, 'tags', 'tag', lists -> 'tags', present_tags)
      || gone_elements(own, 'contributors', 'contributor', lists -> 'contributors', present_contributors)
      || gone_elements(own, 'publishers', 'publisher', lists -> 'publishers', present_publishers);
  end
$$;

-- What an undone edit replaced, from the record before and after it.
create function replaced_values(before jsonb, after jsonb) returns jsonb language sql immutable as $$
  select coalesce(jsonb_object_agg(key, old.value), '{}')
  from jsonb_each(before) as old join jsonb_each(after) as new using (key)
  where old.value <> new.value
$$;

create function undo_publisher(target bigint, effect jsonb) returns jsonb language plpgsql as $$
  declare
    former jsonb = effect -> 'before';
    fields publishers;
    before jsonb = publisher_with_references(target);
    missing jsonb;
    state jsonb;
  begin
    if effect ->> 'did' = 'add' then
      delete from publishers where id = target;
      return jsonb_build_object('before', before, 'left_out', jsonb_build_array());
    end if;
    if effect ->> 'did' = 'edit' then
      select * into fields from publishers where id = target;
      fields = jsonb_populate_record(fields, former);
      update publishers
      set
        client_id = fields.client_id,
        name = fields.name,
        short_name = fields.short_name,
        country = fields.country,
        website = fields.website,
        headquarter = fields.headquarter,
        founding_date = fields.founding_date,
        image = fields.image,
        image_source = fields.image_source
      where id = target;
      missing = restore_publisher_lists(target, former);
      return jsonb_build_object(
        'before', replaced_values(before, publisher_record(target)), 'left_out', missing
      );
    end if;

    fields = jsonb_populate_record(cast(null as publishers), former);
    insert into publishers (
      id, external_id, client_id, name, short_name, slug, country, website, headquarter, founding_date, image,
      image_source, random_key
    )
    overriding system value
    values (
      target, free_external_id('publisher', target, fields.external_id), fields.client_id, fields.name,
      fields.short_name, fields.slug, fields.country, fields.website, fields.headquarter, fields.founding_date,
      fields.image, fields.image_source, fields.random_key
    );
    missing = restore_publisher_lists(target, former);
    insert into publisher_relations (id, publisher_id, relation_id, type)
    overriding system value
    select id, publisher_id, target, type
    from jsonb_populate_recordset(cast(null as publisher_relations), former -> 'relations_to_it')
    where publisher_id in (select id from publishers)
    on conflict (id) do nothing;
    insert into series_publishers (publisher_id, series_id)
    select target, id from series where id = any(ids(cast(former -> 'series' as json)))
    on conflict do nothing;
    state = publisher_record(target);
    return jsonb_build_object(
      'after', state, 'left_out', missing || left_out_identifiers('publisher', target, former, state)
    );
  end
$$;

create function undo_series_record(target bigint, effect jsonb) returns jsonb language plpgsql as $$
  declare
    former jsonb = effect -> 'before';
    fields series;
    before jsonb = series_record(target);
    missing jsonb;
    state jsonb;
  begin
    if effect ->> 'did' = 'add' then
      delete from series where id = target;
      return jsonb_build_object('before', before, 'left_out', jsonb_build_array());
    end if;
    if effect ->> 'did' = 'edit' then
      select * into fields from series where id = target;
      fields = jsonb_populate_record(fields, former);
      update series
      set client_id = fields.client_id, name = fields.name, type = fields.type, origin = fields.origin
      where id = target;
      missing = restore_series_lists(target, former);
      return jsonb_build_object('before', replaced_values(before, series_record(target)), 'left_out', missing);
    end if;

    fields = jsonb_populate_record(cast(null as series), former);
    insert into series (id, external_id, client_id, name, slug, type, origin)
    overriding system value
    values (
      target, free_external_id('series', target, fields.external_id), fields.client_id, fields.name, fields.slug,
      fields.type, fields.origin
    );
    missing = restore_series_lists(target, former);
    state = series_record(target);
    return jsonb_build_object(
      'after', state, 'left_out', missing || left_out_identifiers('series', target, former, state)
    );
  end
$$;

create function undo_tag(target bigint, effect jsonb) returns jsonb language plpgsql as $$
  declare
    former jsonb = effect -> 'before';
    before jsonb = tag_with_series(target);
  begin
    if effect ->> 'did' = 'add' then
      delete from tags where id = target;
      return jsonb_build_object('before', before, 'left_out', jsonb_build_array());
    end if;
    insert into tags (id, name) overriding system value values (target, former ->> 'name');
    insert into series_tags (tag_id, series_id)
    select target, id from series where id = any(ids(cast(former -> 'series' as json)))
    on conflict do nothing;
    return jsonb_build_object('after', tag_record(target), 'left_out', jsonb_build_array());
  end
$$;

create function undo_client(target bigint, effect jsonb) returns jsonb language plpgsql as $$
  declare
    former jsonb = effect -> 'before';
    before jsonb = client_record(target);
  begin
    if effect ->> 'did' = 'edit' then
      update clients set name = former ->> 'name' where id = target;
      return jsonb_build_object(
        'before', replaced_values(before, client_record(target)), 'left_out', jsonb_build_array()
      );
    end if;
    if effect ->> 'did' = 'add' then
      if exists (select from contributors where client_id = target)
        or exists (select from publishers where client_id = target)
        or exists (select from series where client_id = target)
      then
        perform refuse_undo(format('Client %s has records', target));
      end if;
      delete from clients where id = target;
      return jsonb_build_object('before', before, 'left_out', jsonb_build_array());
    end if;
    insert into clients (id, name) values (target, former ->> 'name');
    return jsonb_build_object('after', client_record(target), 'left_out', jsonb_build_array());
  end
$$;
