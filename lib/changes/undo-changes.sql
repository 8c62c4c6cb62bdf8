-- Marks a change as undone by another one, or as done again if that is null. If the change is itself an undo, the
-- changes that it took back get the opposite mark. The recorded result loses the name of the former image: otherwise
-- the same request, sent again, would delete the objects again.
create function mark_undone(change_id bigint, by_id bigint) returns void language plpgsql as $$
  declare
    undone_ids bigint[];
  begin
    update changes
    set
      undone_by = by_id,
      result = case
        when json_typeof(result) = 'object' then cast(cast(result as jsonb) - 'old_image' as json)
        else result
      end
    where id = change_id
    returning undoes into undone_ids;
    perform mark_undone(id, case when by_id is null then change_id end)
    from changes
    where id = any(undone_ids) and undone_by is not distinct from case when by_id is not null then change_id end;
  end
$$;

-- Takes changes back one by one, the newest first, and lists those that it refuses. Records get back only those
-- `images` whose objects have been restored; a dry run assumes that all can be, if there is a file service
-- (`hasImages`). A call ends when its time is over, or when its result exceeds 400 KB: one more change may add as much,
-- and the Data API returns 1 MB. A large change takes most of the time, so it comes first. `handled` counts the changes
-- that the call has looked at. Rows of an import, which has thousands of changes, are not described.
create function undo_changes(request request) returns outcome language plpgsql as $$
  declare
    change_ids bigint[] = ids(request.input -> 'changes');
    undone_import bigint = (select import_id from changes where id = cast(request.input ->> 'import' as bigint));
    unknown_id bigint = (
      select id
      from unnest(change_ids) as asked (id)
      where not exists (select from changes where changes.id = asked.id)
      limit 1
    );
    change changes;
    undoing bigint;
    last_row bigint = 0;
    rows_max bigint = case when undone_import is null then 100 else 0 end;
    result jsonb;
    undone_ids bigint[] = '{}';
    undone jsonb = '[]';
    refused jsonb = '[]';
    handled integer = 0;
    size integer = 0;
    begun_at timestamptz = clock_timestamp();
  begin
    if unknown_id is not null then
      return refused(400, format('There is no change %s', unknown_id));
    end if;
    if request.input -> 'import' is not null and undone_import is null then
      return refused(400, format('There is no change %s of an import', request.input ->> 'import'));
    end if;
    if request.dry_run and cast(request.input ->> 'hasImages' as boolean) then
      perform postpone_removal(former_images(change_ids));
    else
      update images_to_remove
      set remove_after = now()
      where
        key = any(former_images(change_ids))
        and key not in (select json_array_elements_text(request.input -> 'images'));
    end if;
    -- An import that is taken back is over: it goes on no more, and the same file begins anew.
    update imports set is_done = true where id = undone_import;
    for change in select * from changes where id = any(change_ids) order by id desc loop
      exit when
        size > 400000
        or clock_timestamp() > begun_at + interval '2 seconds'
        or handled > 0 and (select sum(cardinality(owners)) from history where change_id = change.id) > 5000;
      result = undo_change(change, cast(request.input ->> 'user' as bigint), last_row);
      if result -> 'reason' is not null then
        result = named_change(change.id) || result;
        refused = refused || result;
      else
        undone_ids = undone_ids || change.id;
        undoing = current_change();
        perform mark_undone(change.id, undoing);
        result = named_change(change.id) || result
          || jsonb_build_object('rows', described_rows(undoing, last_row, rows_max, 200000));
        undone = undone || result;
        last_row = (select max(id) from history where change_id = undoing);
      end if;
      handled = handled + 1;
      size = size + octet_length(cast(result as text));
    end loop;

    if undone_ids <> '{}' and request.dry_run is not true then
      update changes set undoes = undone_ids where id = undoing;
    end if;
    return operated(request, jsonb_build_object('undone', undone, 'refused', refused, 'handled', handled));
  end
$$;
