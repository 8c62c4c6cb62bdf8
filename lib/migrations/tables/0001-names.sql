create extension if not exists pg_trgm;

-- Names order and search by this key: no case, no accents, single spaces. It uses PostgreSQL's own Unicode tables and
-- the collation "C", so that every machine answers alike, whatever its locale.
create function name_key(value text) returns text
  language sql immutable strict parallel safe
  return btrim(regexp_replace(
    replace(replace(translate(
      casefold(regexp_replace(normalize(value, nfkd), '[\u0300-\u036f]', '', 'g') collate pg_unicode_fast),
      'øłđħıð', 'oldhid'
    ), 'æ', 'ae'), 'œ', 'oe') collate "C",
    '\s+', ' ', 'g'
  ));

-- What a name that contains the search is like; %, _ and \ in the search are plain characters.
create function containing(search text) returns text
  language sql immutable strict parallel safe
  return '%' || regexp_replace(name_key(search), '([\\%_])', '\\\1', 'g') || '%';

-- Two names are the same name when these keys are equal: regardless of case and of surrounding space only.
create function identity_key(value text) returns text
  language sql immutable parallel safe
  return btrim(casefold(normalize(coalesce(value, ''), nfc) collate pg_unicode_fast)) collate "C";

-- Before an insert: the slug made from the name, or the first free one of slug-2, slug-3 and so on. The lock makes
-- equal slugs queue up, so concurrent requests never fail for it.
create function assign_slug() returns trigger
  language plpgsql
  as $$
    declare
      base text;
      suffix bigint;
    begin
      base = new.slug;
      perform pg_advisory_xact_lock(hashtextextended(tg_table_name || '/' || base, 0));
      execute format('select 1 from %I where slug = $1', tg_table_name) into suffix using base;
      if suffix is null then
        return new;
      end if;
      execute format(
        'select coalesce(max(cast(substr(slug, length($1) + 2) as bigint)), 1) + 1 from %I
         where slug like $2 and substr(slug, length($1) + 2) ~ ''^[1-9][0-9]{0,8}$''',
        tg_table_name
      ) into suffix using base, replace(base, '_', '\_') || '-%';
      new.slug = base || '-' || suffix;
      return new;
    end
  $$;
