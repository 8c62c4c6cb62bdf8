-- Leaves only ids of a user in the ledger. The user's record leaves the history. Changes by the user lose the name, and
-- changes of the user lose the result. Both lose the key and the digest of the request, since a reader of the ledger
-- could compare the digest with those of a list of names. The deletion keeps its digest and key, which make a
-- repetition harmless: its request has only an id.
create function forget_user(target bigint) returns void language plpgsql as $$
  declare
    deletion bigint = current_change();
  begin
    update changes
    set key = null, fingerprint = null, result = null
    where
      id <> deletion
      and (
        id in (
          select change_id
          from history join history_tables() using (table_name)
          where owners @> array[target] and kind = 'user'
        )
        or record = 'user/' || target
      );
    perform forget_record('user', target);
    update changes
    set key = null, fingerprint = null, username = null
    where caller_id = target and caller_id > 0 and id <> deletion;
    update changes set username = null where id = deletion and caller_id = target;
  end
$$;

-- DELETE /admin-users/delete/{id}. Roles, locks and identities go with the user. Sessions stay for a while, so that the
-- response to them can say that the user is gone. They permit nothing: no other user ever gets the same id. The history
-- loses the record of the user, since the deletion is for good.
create function delete_user(request request, caller caller) returns outcome language plpgsql as $$
  declare
    old_image text;
    rule integer = leaving_rule(request.target, caller.id, roles_of(request.target));
  begin
    if rule is not null then
      return forbidden(rule);
    end if;

    delete from users where id = request.target returning image into old_image;
    perform forget_user(request.target);
    if caller.id = request.target then
      caller.username = null;
    end if;
    return done(request, caller, json_build_object('old_image', old_image), record => 'user/' || request.target);
  end
$$;
