-- The lines with what the database has of them, for series that exist.
create function series_lines(items jsonb) returns import_line[] language sql stable as $$
  select array(
    select jsonb_populate_record(
      cast(null as import_line),
      case
        when id is null then jsonb_build_object(
          'is_new', true, 'type', '', 'origin', '', 'slug', said_slug(given ->> 'external_id')
        )
        else jsonb_build_object(
          'id', id, 'is_new', false, 'own_slug', slug, 'client', client_id, 'name', name, 'type', type,
          'origin', origin
        )
      end || given
    )
    from
      jsonb_array_elements(items) with ordinality as listed (given, place)
      left join series on series.id = imported_id('series', given ->> 'external_id')
    order by place
  )
$$;

-- The contributors or publishers that lines refer to, as elements; of one that is not there the id is null.
create function referred_elements(lines import_line[], kind text, fresh jsonb) returns import_element[]
  language sql stable as $$
  select array(
    select cast(row(
      line.number, referred_id(kind, coalesce(value ->> 'contributor', value #>> '{}'), line.number, fresh), place,
      jsonb_build_object('role', value -> 'role')
    ) as import_element)
    from
      unnest(lines) as line
      cross join lateral jsonb_array_elements(
        case kind when 'contributor' then line.contributors else line.publishers end
      ) with ordinality as element (value, place)
  )
$$;

-- Elements of lines as elements of the lines' records, once each.
create function elements_of_records(elements import_element[], lines import_line[]) returns import_element[]
  language sql immutable as $$
  select array(
    select distinct on (line.id, element.id) cast(row(line.id, element.id, place, value) as import_element)
    from unnest(elements) as element join unnest(lines) as line on line.number = owner
    order by line.id, element.id, place
  )
$$;

-- The volumes that lines give; their place is their number.
create function volumes_in(lines import_line[]) returns import_element[] language sql immutable as $$
  select array(
    select cast(
      row(line.id, null, cast(volume ->> 'number' as bigint), volume - 'number') as import_element
    )
    from unnest(lines) as line cross join lateral jsonb_array_elements(line.volumes) as volume
  )
$$;

-- The elements that are not among the others, by record and id.
create function absent(elements import_element[], others import_element[]) returns import_element[]
  language sql immutable as $$
  select case
    when others = '{}' then elements
    else array(
      select element
      from unnest(elements) as element
      where
        not exists (select from unnest(others) as other where other.owner = element.owner and other.id = element.id)
    )
  end
$$;

create function series_problem(line import_line, fresh jsonb) returns text[] language plpgsql stable as $$
  begin
    return case
      when line.name is null then array['name', 'needed']
      when not line.is_new and line.slug <> line.own_slug then array['slug', 'differs']
      when line.is_new and line.slug <> said_slug(line.external_id) then array['slug', 'unsaid']
      when line.is_new and line.slug is not null and slug_exists('series', line.slug) then array['slug', 'taken']
      when line.client is not null and not is_client(line.client, line.number, fresh) then array['client', 'unknown']
    end;
  end
$$;

-- Adds and edits series, and adds the tags that they need. The caller has locked their contributors.
create function import_series(items jsonb, fresh jsonb) returns import_result language plpgsql as $$
  declare
    lines import_line[] = series_lines(items);
    credits import_element[] = referred_elements(lines, 'contributor', fresh);
    houses import_element[] = referred_elements(lines, 'publisher', fresh);
    covers import_claim[];
    claims import_claim[];
    refusals jsonb;
    stored import_element[];
    wanted import_element[];
    removed_aliases import_element[];
    added_aliases import_element[];
    removed_descriptions import_element[];
    added_descriptions import_element[];
    removed_tags import_element[];
    added_tags import_element[];
    removed_volumes import_element[];
    changed_volumes import_element[];
    added_volumes import_element[];
    removed_credits import_element[];
    changed_credits import_element[];
    added_credits import_element[];
    removed_houses import_element[];
    added_houses import_element[];
    edited bigint[];
  begin
    covers = array(
      select cast(row(line.number, concat('volumes.', place - 1, '.cover'), volume ->> 'cover') as import_claim)
      from
        unnest(lines) as line
        cross join lateral jsonb_array_elements(line.volumes) with ordinality as element (volume, place)
      where
        volume ->> 'cover' is not null
        and not exists (select from volumes where series_id = line.id and cover = volume ->> 'cover')
    );
    refusals = (
      select coalesce(jsonb_agg(refusal), '[]')
      from (
        select distinct on (line) refusal(line, field, reason)
        from (
          select line.number, problem[1], problem[2], 0
          from unnest(lines) as line cross join lateral series_problem(line, fresh) as problem
          where problem is not null
          union all
          select owner, concat('contributors.', place - 1, '.contributor'), 'unknown', 1
          from unnest(credits)
          where id is null
          union all
          select owner, concat('publishers.', place - 1), 'unknown', 2
          from unnest(houses)
          where id is null
          union all
          select line, field, image_refusal(value), 3
          from unnest(covers)
          where image_refusal(value) is not null
        ) as problem (line, field, reason, place)
        order by line, place, field
      ) as first (refusal)
    );
    lines = accepted_lines(lines, refusals);
    claims = claims_of('series', lines) || array(
      select distinct on (claim.line, value) cast(row(claim.line, field, 'image ' || value) as import_claim)
      from unnest(covers) as claim
      where claim.line in (select line.number from unnest(lines) as line)
      order by claim.line, value, field
    );
    refusals = refusals || refused_twins(claims);
    lines = accepted_lines(lines, refusals);

    insert into tags (name)
    select name
    from (
      select distinct on (identity_key(tag)) tag, line.number, place
      from
        unnest(lines) as line
        cross join lateral jsonb_array_elements_text(line.tags) with ordinality as listed (tag, place)
      order by identity_key(tag), line.number, place
    ) as used (name, line, place)
    where not exists (select from tags where identity_key(tags.name) = identity_key(used.name))
    order by line, place;
    if exists (select from unnest(lines) as line where line.is_new) then
      with inserted as (
        insert into series (external_id, slug, client_id, name, type, origin, alias_keys)
        select
          line.external_id, coalesce(line.slug, line.made), line.client, line.name, line.type, line.origin,
          (
            select coalesce(string_agg(name_key(alias ->> 'name'), chr(10) order by place), '')
            from jsonb_array_elements(line.aliases) with ordinality as element (alias, place)
          )
        from unnest(lines) as line
        where line.is_new
        order by line.number
        returning id, external_id, slug
      )
      select array_agg(jsonb_populate_record(
        line, case when line.is_new then jsonb_build_object('id', inserted.id, 'own_slug', inserted.slug) else '{}' end
      ) order by line.number)
      into lines
      from unnest(lines) as line left join inserted on line.is_new and inserted.external_id = line.external_id;
      if exists (select from unnest(lines) as line where line.slug <> line.own_slug) then
        raise unique_violation using message = 'A slug was made from a name before it was given';
      end if;
    end if;

    stored = array(
      select cast(row(series_id, id, id, jsonb_build_object('name', name, 'language', language)) as import_element)
      from series_aliases
      where series_id = any(owners_of(lines, 'aliases'))
    );
    removed_aliases = unequal(stored, elements_in(lines, 'aliases'));
    added_aliases = unequal(elements_in(lines, 'aliases'), stored);
    stored = array(
      select cast(row(series_id, id, id, to_jsonb(element) - array['id', 'series_id']) as import_element)
      from series_descriptions as element
      where series_id = any(owners_of(lines, 'descriptions'))
    );
    removed_descriptions = unequal(stored, elements_in(lines, 'descriptions'));
    added_descriptions = unequal(elements_in(lines, 'descriptions'), stored);

    stored = array(
      select cast(row(series_id, tag_id, null, null) as import_element)
      from series_tags
      where series_id = any(owners_of(lines, 'tags'))
    );
    wanted = array(
      select distinct cast(row(line.id, tags.id, null, null) as import_element)
      from
        unnest(lines) as line
        cross join lateral jsonb_array_elements_text(line.tags) as tag
        join tags on identity_key(tags.name) = identity_key(tag)
    );
    removed_tags = absent(stored, wanted);
    added_tags = absent(wanted, stored);

    stored = array(
      select cast(row(series_id, id, number, to_jsonb(volume) - array['id', 'series_id', 'number']) as import_element)
      from volumes as volume
      where series_id = any(owners_of(lines, 'volumes'))
    );
    wanted = array(
      select cast(row(given.owner, present.id, given.place, given.value) as import_element)
      from
        unnest(volumes_in(lines)) as given
        left join unnest(stored) as present on present.owner = given.owner and present.place = given.place
    );
    removed_volumes = absent(stored, wanted);
    added_volumes = array(select given from unnest(wanted) as given where given.id is null);
    changed_volumes = array(
      select given from unnest(wanted) as given join unnest(stored) as present on present.id = given.id
      where present.value <> given.value
    );

    stored = array(
      select cast(row(series_id, contributor_id, null, jsonb_build_object('role', role)) as import_element)
      from series_contributors
      where series_id = any(owners_of(lines, 'contributors'))
    );
    wanted = elements_of_records(credits, lines);
    removed_credits = absent(stored, wanted);
    added_credits = absent(wanted, stored);
    changed_credits = array(
      select given
      from
        unnest(wanted) as given
        join unnest(stored) as present on present.owner = given.owner and present.id = given.id
      where present.value <> given.value
    );

    stored = array(
      select cast(row(series_id, publisher_id, null, null) as import_element)
      from series_publishers
      where series_id = any(owners_of(lines, 'publishers'))
    );
    wanted = elements_of_records(houses, lines);
    removed_houses = absent(stored, wanted);
    added_houses = absent(wanted, stored);

    edited = array(
      select line.id
      from
        unnest(lines) as line
        cross join lateral (select * from series where id = line.id limit 1) as series
      where
        not line.is_new
        and (
          (line.client, line.name, line.type, line.origin)
          is distinct from (series.client_id, series.name, series.type, series.origin)
          or line.is_touched
          or line.id in (
            select owner
            from unnest(
              removed_aliases || added_aliases || removed_descriptions || added_descriptions || removed_tags
              || added_tags || removed_volumes || changed_volumes || added_volumes || removed_credits
              || changed_credits || added_credits || removed_houses || added_houses
            )
          )
        )
    );

    if edited <> '{}' then
      update series
      set client_id = line.client, name = line.name, type = line.type, origin = line.origin
      from unnest(lines) as line
      where series.id = line.id and series.id = any(edited);
      delete from series_aliases where id = any(ids_of(removed_aliases));
      delete from series_descriptions where id = any(ids_of(removed_descriptions));
      delete from series_tags
      where (series_id, tag_id) in (select owner, id from unnest(removed_tags));
      delete from volumes where id = any(ids_of(removed_volumes));
      update volumes
      set
        cover = given.value ->> 'cover',
        aspect_ratio = cast(given.value ->> 'aspect_ratio' as double precision),
        nsfw = cast(given.value ->> 'nsfw' as smallint),
        nsfw18 = cast(given.value ->> 'nsfw18' as smallint)
      from unnest(changed_volumes) as given
      where volumes.id = given.id;
      delete from series_contributors
      where (series_id, contributor_id) in (select owner, id from unnest(removed_credits));
      update series_contributors
      set role = given.value ->> 'role'
      from unnest(changed_credits) as given
      where series_id = given.owner and contributor_id = given.id;
      delete from series_publishers
      where (series_id, publisher_id) in (select owner, id from unnest(removed_houses));
    end if;
    if added_aliases <> '{}' then
      insert into series_aliases (series_id, name, language)
      select owner, value ->> 'name', value ->> 'language' from unnest(added_aliases) order by owner, place;
    end if;
    if added_descriptions <> '{}' then
      insert into series_descriptions (series_id, language, description)
      select owner, value ->> 'language', value ->> 'description' from unnest(added_descriptions) order by owner, place;
    end if;
    if added_tags <> '{}' then
      insert into series_tags (series_id, tag_id) select owner, id from unnest(added_tags);
    end if;
    if added_volumes <> '{}' then
      insert into volumes (series_id, number, cover, aspect_ratio, nsfw, nsfw18)
      select
        owner, place, value ->> 'cover', cast(value ->> 'aspect_ratio' as double precision),
        cast(value ->> 'nsfw' as smallint), cast(value ->> 'nsfw18' as smallint)
      from unnest(added_volumes)
      order by owner, place;
    end if;
    if added_credits <> '{}' then
      insert into series_contributors (series_id, contributor_id, role)
      select owner, id, value ->> 'role' from unnest(added_credits);
    end if;
    if added_houses <> '{}' then
      insert into series_publishers (series_id, publisher_id) select owner, id from unnest(added_houses);
    end if;

    return import_result('series', lines, cardinality(edited), refusals, claims);
  end
$$;
