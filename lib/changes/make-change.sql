-- The two entries to all changes (lib/data-api/change.ts). Nothing else of a change can be called by the service, so
-- whoever has its passwords still changes nothing in somebody else's name.

-- Makes a change for the caller whose session is in the request. Changes of contributors that neither add nor take
-- authority run beside each other; any other change runs alone. `clock` is the database's, in milliseconds.
create function make_change(
  change text, input json, out status integer, out caller bigint, out body text, out clock bigint
)
  language plpgsql as $$
  declare
    is_shared boolean = change in ('add_contributor', 'edit_contributor') or input #>> '{asked,owner}' = 'contributors';
    request request = admit_caller(input, coalesce(is_shared, false));
    outcome outcome = row(request.status, request.answer);
  begin
    if request.status is null then
      outcome = case change
        when 'add_contributor' then add_contributor(request)
        when 'add_permission' then add_permission(request)
        when 'add_role' then add_role(request)
        when 'delete_contributor' then delete_contributor(request)
        when 'delete_permission' then delete_permission(request)
        when 'delete_role' then delete_role(request)
        when 'delete_user' then delete_user(request)
        when 'edit_contributor' then edit_contributor(request)
        when 'edit_permission' then edit_permission(request)
        when 'edit_role' then edit_role(request)
        when 'edit_user' then edit_user(request)
        when 'log_out_user' then log_out_user(request)
        when 'prepare_image' then prepare_image(request)
        when 'remove_image' then remove_image(request)
        when 'replace_image' then replace_image(request)
      end;
    end if;
    status = outcome.status;
    caller = request.caller;
    body = outcome.answer;
    clock = floor(1000 * extract(epoch from clock_timestamp()));
  end
$$;

-- Makes a change for an operator. It needs no session: IAM decides who may invoke the function.
create function make_operator_change(
  change text, input json, out status integer, out caller bigint, out body text, out clock bigint
)
  language plpgsql as $$
  declare
    request request = admit_operator(input);
    outcome outcome = row(request.status, request.answer);
  begin
    if request.status is null then
      outcome = case change
        when 'create_user' then create_user(request)
        when 'open_session' then open_session(request)
        when 'restore_permissions' then restore_permissions(request)
        when 'tidy' then tidy(request)
        when 'unlist_images' then unlist_images(request)
      end;
    end if;
    status = outcome.status;
    body = outcome.answer;
    clock = floor(1000 * extract(epoch from clock_timestamp()));
  end
$$;
