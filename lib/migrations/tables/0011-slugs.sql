-- Whether a record of this table has the slug.
create function slug_exists(table_name text, wanted text) returns boolean
  language plpgsql stable
  as $$
    declare
      found_one boolean;
    begin
      execute format('select exists (select from %I where slug = $1)', table_name) into found_one using wanted;
      return found_one;
    end
  $$;

-- The slug made from the name, or one with a number. The number is doubled until it is free, and then halved towards one
-- that is taken, so some thirty look-ups find it however many there are: the next one where they have no gaps. If even
-- all the powers of two are taken, any large number does. The lock is that of the name without numbers at its end, for
-- the slugs that are made of zz and of zz-2 meet in zz-2.
create or replace function assign_slug() returns trigger
  language plpgsql
  as $$
    declare
      base text = new.slug;
      taken bigint = 1;
      free bigint = 2;
      middle bigint;
    begin
      perform pg_advisory_xact_lock(
        hashtextextended(tg_table_name || '/' || regexp_replace(base, '(-[0-9]+)+$', ''), 0)
      );
      if not slug_exists(tg_table_name, base) then
        return new;
      end if;

      while slug_exists(tg_table_name, base || '-' || free) loop
        taken = free;
        free = case when taken < 1e17 then 2 * taken else 1e17 + floor(random() * 1e17) end;
      end loop;
      while free - taken > 1 loop
        middle = (taken + free) / 2;
        if slug_exists(tg_table_name, base || '-' || middle) then
          taken = middle;
        else
          free = middle;
        end if;
      end loop;
      new.slug = base || '-' || free;
      return new;
    end
  $$;
