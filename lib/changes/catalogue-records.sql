-- Records of the catalogue with all that belongs to them, as the ledger stores them; null if there is none.
create function client_record(target bigint) returns jsonb language sql stable as $$
  select to_jsonb(clients) from clients where id = target
$$;

create function tag_record(target bigint) returns jsonb language sql stable as $$
  select to_jsonb(tags) from tags where id = target
$$;

create function publisher_record(target bigint) returns jsonb language sql stable as $$
  select to_jsonb(record)
  from (
    select
      id, external_id, client_id, name, short_name, slug, country, website, headquarter, founding_date, image,
      image_source, random_key,
      (
        select coalesce(jsonb_agg(to_jsonb(alias) - 'publisher_id' order by id), '[]')
        from publisher_aliases as alias
        where publisher_id = target
      ) as aliases,
      (
        select coalesce(jsonb_agg(to_jsonb(text) - 'publisher_id' order by id), '[]')
        from publisher_descriptions as text
        where publisher_id = target
      ) as descriptions,
      (
        select coalesce(jsonb_agg(to_jsonb(relation) - 'publisher_id' order by id), '[]')
        from publisher_relations as relation
        where publisher_id = target
      ) as relations
    from publishers
    where id = target
  ) as record
$$;

create function series_record(target bigint) returns jsonb language sql stable as $$
  select to_jsonb(record)
  from (
    select
      id, external_id, client_id, name, slug, type, origin,
      (
        select coalesce(jsonb_agg(to_jsonb(alias) - array['series_id', 'name_key'] order by id), '[]')
        from series_aliases as alias
        where series_id = target
      ) as aliases,
      (
        select coalesce(jsonb_agg(to_jsonb(text) - 'series_id' order by id), '[]')
        from series_descriptions as text
        where series_id = target
      ) as descriptions,
      (
        select coalesce(jsonb_agg(jsonb_build_object('id', tag_id) order by tag_id), '[]')
        from series_tags
        where series_id = target
      ) as tags,
      (
        select coalesce(jsonb_agg(to_jsonb(volume) - 'series_id' order by id), '[]')
        from volumes as volume
        where series_id = target
      ) as volumes,
      (
        select coalesce(jsonb_agg(jsonb_build_object('id', contributor_id, 'role', role) order by contributor_id), '[]')
        from series_contributors
        where series_id = target
      ) as contributors,
      (
        select coalesce(jsonb_agg(jsonb_build_object('id', publisher_id) order by publisher_id), '[]')
        from series_publishers
        where series_id = target
      ) as publishers
    from series
    where id = target
  ) as record
$$;
