-- The lock is that of the name without numbers at its end, for the slugs that are made of zz and of zz-2 meet in zz-2.
create or replace function assign_slug() returns trigger
  language plpgsql
  as $$
    declare
      base text;
      root text;
      suffix bigint;
    begin
      base = new.slug;
      root = regexp_replace(base, '(-[0-9]+)+$', '');
      perform pg_advisory_xact_lock(hashtextextended(tg_table_name || '/' || root, 0));
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
