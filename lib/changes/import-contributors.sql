-- The lines with what the database has of them, for contributors that exist.
create function contributor_lines(items jsonb) returns import_line[] language sql stable as $$
  select array(
    select jsonb_populate_record(
      cast(null as import_line),
      item || jsonb_build_object(
        'first_key', identity_key(item ->> 'first_name'),
        'last_key', identity_key(item ->> 'last_name'),
        'is_renamed',
        id is null
        or identity_key(first_name) <> identity_key(item ->> 'first_name')
        or identity_key(last_name) <> identity_key(item ->> 'last_name')
      )
    )
    from (
      select
        id, first_name, last_name, place,
        case
          when id is null then jsonb_build_object(
            'is_new', true, 'public', false, 'slug', said_slug(given ->> 'external_id')
          )
          else jsonb_build_object(
            'id', id, 'is_new', false, 'own_slug', slug, 'client', client_id, 'public', public,
            'first_name', first_name, 'last_name', last_name, 'gender', gender, 'type', type,
            'image', image, 'former_image', image
          )
        end || given as item
      from
        jsonb_array_elements(items) with ordinality as listed (given, place)
        left join contributors on contributors.id = imported_id('contributor', given ->> 'external_id')
    ) as merged
    order by place
  )
$$;

-- What is wrong with a line in itself: its field, and why.
create function contributor_problem(line import_line, fresh jsonb) returns text[] language plpgsql stable as $$
  begin
    return case
      when line.first_name is null then array['first_name', 'needed']
      when not line.is_new and line.slug <> line.own_slug then array['slug', 'differs']
      when line.is_new and line.slug <> said_slug(line.external_id) then array['slug', 'unsaid']
      when line.is_new and line.slug is not null and slug_exists('contributors', line.slug) then array['slug', 'taken']
      when line.client is not null and not is_client(line.client, line.number, fresh) then array['client', 'unknown']
      when line.image is distinct from line.former_image and image_refusal(line.image) is not null
        then array['image', image_refusal(line.image)]
    end;
  end
$$;

-- Adds and edits contributors. The caller has locked those that exist.
create function import_contributors(items jsonb, fresh jsonb) returns import_result language plpgsql as $$
  declare
    lines import_line[] = contributor_lines(items);
    refusals jsonb;
    claims import_claim[];
    stored import_element[];
    removed_aliases import_element[];
    added_aliases import_element[];
    removed_descriptions import_element[];
    added_descriptions import_element[];
    linked bigint[];
    edited bigint[];
  begin
    perform lock_name(name)
    from (
      select distinct 'contributor ' || line.first_key || chr(10) || line.last_key as name
      from unnest(lines) as line
      where line.is_renamed and line.first_name is not null
      order by name
    ) as named;
    perform lock_name(name)
    from (
      select distinct 'contributors/' || regexp_replace(coalesce(line.slug, line.made), '(-[0-9]+)+$', '') as name
      from unnest(lines) as line
      where line.is_new
      order by name
    ) as named;

    refusals = (
      select coalesce(jsonb_agg(refusal(line.number, problem[1], problem[2])), '[]')
      from unnest(lines) as line cross join lateral contributor_problem(line, fresh) as problem
      where problem is not null
    );
    lines = accepted_lines(lines, refusals);
    -- A name is free if an earlier line takes it from its owner. If that line is refused in its turn, the unique index
    -- fails the batch, and its halves follow.
    refusals = refusals || (
      select coalesce(jsonb_agg(refusal(line.number, 'first_name', 'taken')), '[]')
      from
        unnest(lines) as line
        cross join lateral (
          select id
          from contributors
          where identity_key(first_name) = line.first_key and identity_key(last_name) = line.last_key
          limit 1
        ) as other
      where
        line.is_renamed
        and not exists (
          select from unnest(lines) as earlier
          where earlier.id = other.id and earlier.is_renamed and earlier.number < line.number
        )
    );
    lines = accepted_lines(lines, refusals);
    claims = claims_of('contributor', lines);
    refusals = refusals || refused_twins(claims);
    lines = accepted_lines(lines, refusals);

    -- Whoever reads what others write to these waits now (tag_contributors), before anybody waits for the tallies.
    perform
    from contributors
    where not public and id = any(array(select line.id from unnest(lines) as line where line.public))
    order by id
    for update;
    with inserted as (
      insert into contributors (
        external_id, slug, client_id, public, first_name, last_name, gender, type, image, alias_keys, short_alias_keys
      )
      select
        line.external_id, coalesce(line.slug, line.made), line.client, line.public, line.first_name, line.last_name,
        line.gender, line.type, line.image, keys, case when octet_length(keys) <= 200 then keys end
      from
        unnest(lines) as line
        cross join lateral (
          select coalesce(string_agg(name_key(alias ->> 'name'), chr(10) order by place), '')
          from jsonb_array_elements(line.aliases) with ordinality as element (alias, place)
        ) as alias (keys)
      where line.is_new
      order by line.number
      returning id, external_id, slug
    )
    select array_agg(jsonb_populate_record(
      line, case when line.is_new then jsonb_build_object('id', inserted.id, 'own_slug', inserted.slug) else '{}' end
    ) order by line.number)
    into lines
    from unnest(lines) as line left join inserted on line.is_new and inserted.external_id = line.external_id;
    lines = coalesce(lines, '{}');
    if exists (select from unnest(lines) as line where line.slug <> line.own_slug) then
      raise unique_violation using message = 'A slug was made from a name before it was given';
    end if;

    stored = array(
      select cast(row(contributor_id, id, id, jsonb_build_object('name', name)) as import_element)
      from contributor_aliases
      where contributor_id = any(owners_of(lines, 'aliases'))
    );
    removed_aliases = unequal(stored, elements_in(lines, 'aliases'));
    added_aliases = unequal(elements_in(lines, 'aliases'), stored);
    stored = array(
      select cast(row(contributor_id, id, id, to_jsonb(element) - array['id', 'contributor_id']) as import_element)
      from contributor_descriptions as element
      where contributor_id = any(owners_of(lines, 'descriptions'))
    );
    removed_descriptions = unequal(stored, elements_in(lines, 'descriptions'));
    added_descriptions = unequal(elements_in(lines, 'descriptions'), stored);
    linked = array(
      select line.id
      from unnest(lines) as line
      where
        line.links is not null
        and array(select distinct jsonb_array_elements_text(line.links) as url order by url)
          <> array(select url from contributor_links where contributor_id = line.id order by url)
    );
    edited = array(
      select line.id
      from
        unnest(lines) as line
        cross join lateral (select * from contributors where id = line.id limit 1) as contributors
      where
        not line.is_new
        and (
          (line.client, line.public, line.first_name, line.last_name, line.gender, line.type, line.image)
          is distinct from (
            contributors.client_id, contributors.public, contributors.first_name, contributors.last_name,
            contributors.gender, contributors.type, contributors.image
          )
          or line.id = any(linked)
          or line.is_touched
          or line.id in (
            select owner
            from unnest(removed_aliases || added_aliases || removed_descriptions || added_descriptions)
          )
        )
    );

    if edited <> '{}' then
      update contributors
      set
        client_id = line.client,
        public = line.public,
        first_name = line.first_name,
        last_name = line.last_name,
        gender = line.gender,
        type = line.type,
        image = line.image,
        version = version + 1
      from unnest(lines) as line
      where contributors.id = line.id and contributors.id = any(edited);
    end if;
    if removed_aliases <> '{}' then
      delete from contributor_aliases where id = any(ids_of(removed_aliases));
    end if;
    if added_aliases <> '{}' then
      insert into contributor_aliases (contributor_id, name)
      select owner, value ->> 'name' from unnest(added_aliases) order by owner, place;
    end if;
    if removed_descriptions <> '{}' then
      delete from contributor_descriptions where id = any(ids_of(removed_descriptions));
    end if;
    if added_descriptions <> '{}' then
      insert into contributor_descriptions (contributor_id, language, description, source)
      select owner, value ->> 'language', value ->> 'description', value ->> 'source'
      from unnest(added_descriptions)
      order by owner, place;
    end if;
    if linked && edited then
      delete from contributor_links where contributor_id = any(linked);
    end if;
    if linked <> '{}' then
      insert into contributor_links (contributor_id, position, url)
      select line.id, row_number() over (partition by line.id order by min(place)) - 1, url
      from
        unnest(lines) as line
        cross join lateral jsonb_array_elements_text(line.links) with ordinality as link (url, place)
      where line.id = any(linked)
      group by line.id, url;
    end if;

    return import_result('contributor', lines, cardinality(edited), refusals, claims);
  end
$$;
