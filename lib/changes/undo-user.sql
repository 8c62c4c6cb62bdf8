-- Takes an edit of a user back, or a change of the image. A user who loses the last role gets the default role from the
-- database, so the former roles come first.
create function undo_user(target bigint, effect jsonb) returns jsonb language plpgsql as $$
  declare
    former jsonb = effect -> 'before';
    fields users;
    before json = user_record(target);
    image_missing jsonb;
    missing jsonb;
    changed jsonb;
  begin
    select * into fields from users where id = target;
    image_missing = left_out_image('user/' || target, former, fields.image);
    fields = jsonb_populate_record(fields, case when image_missing is null then former else former - 'image' end);
    select coalesce(jsonb_agg(left_out(
      'user/' || target, 'roles/' || removed, format('Role %s is gone', removed), 'role/' || removed
    ) order by removed), '[]')
    into missing
    from unnest(ids(cast(former -> 'removed_roles' as json))) as removed
    where removed not in (select id from roles);

    update users
    set username = fields.username, age_verified = fields.age_verified, image = fields.image
    where id = target;
    insert into user_roles (user_id, role_id)
    select target, id
    from roles
    where id = any(ids(cast(former -> 'removed_roles' as json)))
    on conflict do nothing;
    delete from user_roles where user_id = target and role_id = any(ids(cast(former -> 'added_roles' as json)));
    changed = replaced(before, user_record(target));
    if changed -> 'added_roles' is not null then
      perform check_roles(array[target]);
    end if;
    if changed -> 'image' is not null then
      perform schedule_removal(before);
    end if;
    update users set version = version + 1 where id = target and changed <> '{}';
    return jsonb_build_object('before', changed, 'left_out', missing || coalesce(image_missing, '[]'));
  end
$$;
