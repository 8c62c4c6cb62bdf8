-- The lines with what the database has of them, for publishers that exist.
create function publisher_lines(items jsonb) returns import_line[] language sql stable as $$
  select array(
    select jsonb_populate_record(
      cast(null as import_line),
      case
        when id is null then jsonb_build_object('is_new', true, 'slug', said_slug(given ->> 'external_id'))
        else jsonb_build_object(
          'id', id, 'is_new', false, 'own_slug', slug, 'client', client_id, 'name', name, 'short_name', short_name,
          'country', country, 'website', website, 'headquarter', headquarter, 'founding_date', founding_date,
          'image', image, 'former_image', image, 'image_source', image_source
        )
      end || given
    )
    from
      jsonb_array_elements(items) with ordinality as listed (given, place)
      left join publishers on publishers.id = imported_id('publisher', given ->> 'external_id')
    order by place
  )
$$;

create function publisher_problem(line import_line, fresh jsonb) returns text[] language plpgsql stable as $$
  begin
    return case
      when line.name is null then array['name', 'needed']
      when not line.is_new and line.slug <> line.own_slug then array['slug', 'differs']
      when line.is_new and line.slug <> said_slug(line.external_id) then array['slug', 'unsaid']
      when line.is_new and line.slug is not null and slug_exists('publishers', line.slug) then array['slug', 'taken']
      when line.client is not null and not is_client(line.client, line.number, fresh) then array['client', 'unknown']
      when line.image is distinct from line.former_image and image_refusal(line.image) is not null
        then array['image', image_refusal(line.image)]
    end;
  end
$$;

-- Adds and edits publishers.
create function import_publishers(items jsonb, fresh jsonb) returns import_result language plpgsql as $$
  declare
    lines import_line[] = publisher_lines(items);
    refusals jsonb;
    claims import_claim[];
    stored import_element[];
    removed_aliases import_element[];
    added_aliases import_element[];
    removed_descriptions import_element[];
    added_descriptions import_element[];
    edited bigint[];
  begin
    refusals = (
      select coalesce(jsonb_agg(refusal(line.number, problem[1], problem[2])), '[]')
      from unnest(lines) as line cross join lateral publisher_problem(line, fresh) as problem
      where problem is not null
    );
    lines = accepted_lines(lines, refusals);
    claims = claims_of('publisher', lines);
    refusals = refusals || refused_twins(claims);
    lines = accepted_lines(lines, refusals);

    if exists (select from unnest(lines) as line where line.is_new) then
      with inserted as (
        insert into publishers (
          external_id, slug, client_id, name, short_name, country, website, headquarter, founding_date, image,
          image_source, alias_keys
        )
        select
          line.external_id, coalesce(line.slug, line.made), line.client, line.name, line.short_name, line.country,
          line.website, line.headquarter, line.founding_date, line.image, line.image_source,
          (
            select coalesce(string_agg(name_key(alias ->> 'title'), chr(10) order by place), '')
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
      select cast(row(publisher_id, id, id, to_jsonb(element) - array['id', 'publisher_id']) as import_element)
      from publisher_aliases as element
      where publisher_id = any(owners_of(lines, 'aliases'))
    );
    removed_aliases = unequal(stored, elements_in(lines, 'aliases'));
    added_aliases = unequal(elements_in(lines, 'aliases'), stored);
    stored = array(
      select cast(row(publisher_id, id, id, to_jsonb(element) - array['id', 'publisher_id']) as import_element)
      from publisher_descriptions as element
      where publisher_id = any(owners_of(lines, 'descriptions'))
    );
    removed_descriptions = unequal(stored, elements_in(lines, 'descriptions'));
    added_descriptions = unequal(elements_in(lines, 'descriptions'), stored);
    edited = array(
      select line.id
      from
        unnest(lines) as line
        cross join lateral (select * from publishers where id = line.id limit 1) as publishers
      where
        not line.is_new
        and (
          (
            line.client, line.name, line.short_name, line.country, line.website, line.headquarter,
            line.founding_date, line.image, line.image_source
          ) is distinct from (
            publishers.client_id, publishers.name, publishers.short_name, publishers.country, publishers.website,
            publishers.headquarter, publishers.founding_date, publishers.image, publishers.image_source
          )
          or line.is_touched
          or line.id in (
            select owner
            from unnest(removed_aliases || added_aliases || removed_descriptions || added_descriptions)
          )
        )
    );

    if edited <> '{}' then
      update publishers
      set
        client_id = line.client,
        name = line.name,
        short_name = line.short_name,
        country = line.country,
        website = line.website,
        headquarter = line.headquarter,
        founding_date = line.founding_date,
        image = line.image,
        image_source = line.image_source
      from unnest(lines) as line
      where publishers.id = line.id and publishers.id = any(edited);
    end if;
    if removed_aliases <> '{}' then
      delete from publisher_aliases where id = any(ids_of(removed_aliases));
    end if;
    if added_aliases <> '{}' then
      insert into publisher_aliases (publisher_id, title, language)
      select owner, value ->> 'title', value ->> 'language' from unnest(added_aliases) order by owner, place;
    end if;
    if removed_descriptions <> '{}' then
      delete from publisher_descriptions where id = any(ids_of(removed_descriptions));
    end if;
    if added_descriptions <> '{}' then
      insert into publisher_descriptions (publisher_id, language, description, source)
      select owner, value ->> 'language', value ->> 'description', value ->> 'source'
      from unnest(added_descriptions)
      order by owner, place;
    end if;

    return import_result('publisher', lines, cardinality(edited), refusals, claims);
  end
$$;
