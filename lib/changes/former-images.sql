-- The images that changes took from records, and that no record has. Undone, these changes need them.
create function former_images(change_ids bigint[]) returns text[] language sql stable as $$
  select array(
    select distinct effect -> 'before' ->> 'image'
    from changes cross join lateral jsonb_array_elements(effects_of(changes)) as effect
    where
      id = any(change_ids)
      and effect ->> 'record' in ('contributor', 'user')
      and effect -> 'before' ->> 'image' is not null
    except
    select image from contributors where image is not null
    except
    select image from users where image is not null
  )
$$;

-- Lists images for removal in an hour. So they are removed again unless a record gets them until then.
create function postpone_removal(keys text[]) returns void language sql as $$
  insert into images_to_remove (key, remove_after)
  select key, now() + interval '1 hour'
  from unnest(keys) as key
  on conflict (key) do update
  set remove_after = excluded.remove_after
$$;
