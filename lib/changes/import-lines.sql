-- What the changes of an import have in common. Lines come checked (lib/operators/catalogue-lines.ts); what depends on
-- the database is checked here. An import is the only change that gives external ids, and that changes publishers,
-- series, tags and clients beside others, and one batch waits for another one. So only contributors need locks of
-- their own.

-- A line, and of a record that exists what the line leaves out. `made` is a slug made from the name. In a dry run a
-- line `is_touched` that leads to a record of an earlier batch: that is not there, but would be, and be a change.
create type import_line as (
  number bigint,
  id bigint,
  is_new boolean,
  is_touched boolean,
  external_id text,
  slug text,
  own_slug text,
  made text,
  client bigint,
  public boolean,
  first_name text,
  first_key text,
  last_name text,
  last_key text,
  is_renamed boolean,
  gender text,
  type text,
  image text,
  former_image text,
  name text,
  short_name text,
  country text,
  website text,
  headquarter text,
  founding_date date,
  image_source text,
  origin text,
  links jsonb,
  tags jsonb,
  aliases jsonb,
  descriptions jsonb,
  volumes jsonb,
  contributors jsonb,
  publishers jsonb
);

-- An element of a record's list, in its place; one that is not stored yet has no id.
create type import_element as (owner bigint, id bigint, place bigint, value jsonb);

-- What only one record may have, and a line wants for its own. The value says what it is, as `image avatars/one.webp`.
create type import_claim as (line bigint, field text, value text);

-- What became of lines of one kind. `refusals` are objects with line, field and reason; `fresh` has the lines of new
-- records by their ids; `claims` are those of lines that were not refused before.
create type import_result as (
  added bigint, changed bigint, refusals jsonb, fresh jsonb, claims import_claim[]
);

-- The slug that an external id says, as an export names a record without one; null if it says none.
create function said_slug(external_id text) returns text language sql immutable as $$
  select substring(external_id from '^slug:([^/?#%\\]+)$')
$$;

-- The record that a line means by an external id.
create function imported_id(kind text, reference text) returns bigint language plpgsql stable as $$
  declare
    found_id bigint;
    own_slug text = said_slug(reference);
  begin
    if kind = 'contributor' then
      select id into found_id from contributors where external_id = reference;
      if found_id is null and own_slug is not null then
        select id into found_id from contributors where slug = own_slug and external_id is null;
      end if;
    elsif kind = 'publisher' then
      select id into found_id from publishers where external_id = reference;
      if found_id is null and own_slug is not null then
        select id into found_id from publishers where slug = own_slug and external_id is null;
      end if;
    else
      select id into found_id from series where external_id = reference;
      if found_id is null and own_slug is not null then
        select id into found_id from series where slug = own_slug and external_id is null;
      end if;
    end if;
    return found_id;
  end
$$;

-- The same for a reference, which leads to no record of a later line.
create function referred_id(kind text, reference text, line bigint, fresh jsonb) returns bigint
  language plpgsql stable as $$
  declare
    found_id bigint = imported_id(kind, reference);
  begin
    if cast(fresh -> kind ->> cast(found_id as text) as bigint) > line then
      return null;
    end if;
    return found_id;
  end
$$;

-- Whether there is such a client, and no later line added it.
create function is_client(client bigint, line bigint, fresh jsonb) returns boolean language plpgsql stable as $$
  begin
    return exists (select from clients where id = client)
      and coalesce(cast(fresh -> 'client' ->> cast(client as text) as bigint) < line, true);
  end
$$;

-- Why a record may not have an image, or null.
create function image_refusal(image_key text) returns text language plpgsql stable as $$
  begin
    return case
      when exists (select from contributors where image = image_key)
        or exists (select from publishers where image = image_key)
        or exists (select from users where image = image_key)
        or exists (select from volumes where cover = image_key)
        then 'taken'
      when exists (select from images_to_remove where key = image_key) then 'removed'
    end;
  end
$$;

create function refusal(line bigint, field text, reason text) returns jsonb language sql immutable as $$
  select jsonb_build_object('line', line, 'field', field, 'reason', reason)
$$;

-- What lines of a kind want for their own, but for covers.
create function claims_of(kind text, lines import_line[]) returns import_claim[] language sql immutable as $$
  select array(
    select cast(row(line.number, claim.field, claim.value) as import_claim)
    from
      unnest(lines) as line
      cross join lateral (
        values
          (
            'first_name',
            case
              when kind = 'contributor' and line.is_renamed then 'name ' || line.first_key || chr(10) || line.last_key
            end
          ),
          ('slug', case when line.is_new then kind || ' slug ' || line.slug end),
          ('image', case when line.image is distinct from line.former_image then 'image ' || line.image end)
      ) as claim (field, value)
    where claim.value is not null
  )
$$;

-- Refuses each line that claims what an earlier one has got.
create function refused_twins(claims import_claim[]) returns jsonb language plpgsql immutable as $$
  declare
    refusals jsonb = '[]';
    twin bigint;
    fields text[];
    values_claimed text[];
    owned text[] = '{}';
  begin
    for twin, fields, values_claimed in
      select line, array_agg(field order by field), array_agg(value order by field)
      from unnest(claims)
      where line in (
        select unnest(lines)
        from (select array_agg(line) as lines from unnest(claims) group by value having count(*) > 1) as claimed
      )
      group by line
      order by line
    loop
      if values_claimed && owned then
        refusals = refusals || (
          select refusal(twin, min(field), 'taken')
          from unnest(fields, values_claimed) as claim (field, value)
          where value = any(owned)
        );
      else
        owned = owned || values_claimed;
      end if;
    end loop;
    return refusals;
  end
$$;

create function accepted_lines(lines import_line[], refusals jsonb) returns import_line[] language sql immutable as $$
  select case
    when refusals = '[]' then lines
    else array(
      select line
      from unnest(lines) as line
      where line.number not in (select cast(refusal -> 'line' as bigint) from jsonb_array_elements(refusals) as refusal)
      order by line.number
    )
  end
$$;

-- The elements of a list that lines give.
create function elements_in(lines import_line[], list text) returns import_element[] language sql immutable as $$
  select array(
    select cast(row(line.id, null, place, value) as import_element)
    from
      unnest(lines) as line
      cross join lateral jsonb_array_elements(
        case list when 'aliases' then line.aliases else line.descriptions end
      ) with ordinality as element (value, place)
  )
$$;

-- Those records that exist, and whose list a line gives.
create function owners_of(lines import_line[], list text) returns bigint[] language sql immutable as $$
  select array(
    select line.id
    from unnest(lines) as line
    where
      not line.is_new
      and case list
        when 'aliases' then line.aliases
        when 'descriptions' then line.descriptions
        when 'tags' then line.tags
        when 'volumes' then line.volumes
        when 'contributors' then line.contributors
        when 'publishers' then line.publishers
      end is not null
  )
$$;

-- The elements that have no equal among the others; of two equal ones, one has if the others have it once.
create function unequal(elements import_element[], others import_element[]) returns import_element[]
  language sql immutable as $$
  select case
    when elements = '{}' or others = '{}' then elements
    else array(
      with element as (
        select *, row_number() over (partition by owner, value order by place) as copy from unnest(elements)
      ), other as (
        select *, row_number() over (partition by owner, value order by place) as copy from unnest(others)
      )
      select cast(row(owner, id, place, value) as import_element)
      from element
      where
        not exists (
          select
          from other
          where other.owner = element.owner and other.value = element.value and other.copy = element.copy
        )
      order by owner, place
    )
  end
$$;

create function ids_of(elements import_element[]) returns bigint[] language sql immutable as $$
  select array(select id from unnest(elements))
$$;

-- What became of the lines.
create function import_result(
  kind text, lines import_line[], changed bigint, refusals jsonb, claims import_claim[]
) returns import_result language sql immutable as $$
  select cast(row(
    count(*) filter (where line.is_new),
    changed,
    refusals,
    jsonb_build_object(kind, coalesce(jsonb_object_agg(line.id, line.number) filter (where line.is_new), '{}')),
    claims
  ) as import_result)
  from unnest(lines) as line
$$;
