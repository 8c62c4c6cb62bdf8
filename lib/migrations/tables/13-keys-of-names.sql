-- The keys of names, computed as before. PL/pgSQL keeps the plans of its expressions, as long as the search path stays
-- the same, whereas PostgreSQL reads the body of an SQL function again for each statement that stores or indexes its
-- result. Most names are plain ASCII and need no normalization: they have as many characters as bytes.
create or replace function name_key(value text) returns text
  language plpgsql immutable strict parallel safe
  set search_path = public, pg_temp
  as $$
    begin
      if octet_length(value) > length(value) then
        value = regexp_replace(normalize(without_joiners(value), nfkd), '[\u0300-\u036f]', '', 'g');
        value = translate(casefold(value collate pg_unicode_fast), 'øłđħıð', 'oldhid');
        value = replace(replace(value, 'æ', 'ae'), 'œ', 'oe');
      else
        value = lower(value collate "C");
      end if;
      return btrim(regexp_replace(value collate "C", '\s+', ' ', 'g'));
    end
  $$;

create or replace function identity_key(value text) returns text
  language plpgsql immutable parallel safe
  set search_path = public, pg_temp
  as $$
    begin
      if octet_length(value) > length(value) then
        value = normalize(casefold(normalize(without_joiners(value), nfd) collate pg_unicode_fast), nfc);
      else
        value = lower(value collate "C");
      end if;
      return btrim(regexp_replace(coalesce(value, '') collate pg_unicode_fast, '\s+', ' ', 'g'));
    end
  $$;
