-- The changes of all.ts, as PostgreSQL calls them. Written by npm run statements.

-- The permission that the change requires, or null if a session is enough. An unknown name requires one that no user
-- has.
create function permission_for(change text) returns text language sql immutable as $$
  select case change
    when 'add_contributor' then 'add-contributors'
    when 'add_permission' then 'add-permissions'
    when 'add_role' then 'add-roles'
    when 'check_session' then null
    when 'delete_contributor' then 'delete-contributors'
    when 'delete_permission' then 'delete-permissions'
    when 'delete_role' then 'delete-roles'
    when 'delete_user' then 'delete-users'
    when 'edit_contributor' then 'edit-contributors'
    when 'edit_permission' then 'edit-permissions'
    when 'edit_role' then 'edit-roles'
    when 'edit_user' then 'edit-users'
    when 'log_out_user' then 'edit-users'
    when 'prepare_avatar' then 'edit-contributors'
    when 'prepare_user_image' then 'edit-users'
    when 'release_contributor_lock' then 'view-contributors'
    when 'release_user_lock' then 'view-users'
    when 'set_avatar' then 'edit-contributors'
    when 'set_user_image' then 'edit-users'
    when 'sign_out' then null
    else ''
  end
$$;

-- The table of the record that changes, if the path of the request has an id.
create function table_of(change text) returns text language sql immutable as $$
  select case change
    when 'delete_contributor' then 'contributors'
    when 'delete_permission' then 'permissions'
    when 'delete_role' then 'roles'
    when 'delete_user' then 'users'
    when 'edit_contributor' then 'contributors'
    when 'edit_permission' then 'permissions'
    when 'edit_role' then 'roles'
    when 'edit_user' then 'users'
    when 'log_out_user' then 'users'
    when 'prepare_avatar' then 'contributors'
    when 'prepare_user_image' then 'users'
    when 'release_contributor_lock' then 'contributors'
    when 'release_user_lock' then 'users'
    when 'set_avatar' then 'contributors'
    when 'set_user_image' then 'users'
  end
$$;

-- Whether the record may be a user who outranks the caller.
create function permits_outranked(change text) returns boolean language sql immutable as $$
  select change in (
    'release_user_lock'
  )
$$;

-- Whether the change gives and takes no authority, and so runs beside others.
create function runs_beside_others(change text) returns boolean language sql immutable as $$
  select change in (
    'add_contributor',
    'check_session',
    'edit_contributor',
    'prepare_avatar',
    'prepare_user_image',
    'release_contributor_lock',
    'release_user_lock',
    'set_avatar',
    'set_user_image'
  )
$$;

create function operator_runs_beside_others(change text) returns boolean language sql immutable as $$
  select change in (
    'import_records',
    'tidy'
  )
$$;

-- Locks the record of this id. Returns its version, or null if there is no such record.
create function locked_version(table_name text, target bigint) returns bigint language plpgsql as $$
  declare
    found_version bigint;
  begin
    if table_name = 'contributors' then
      select version into found_version from contributors where id = target for no key update;
    elsif table_name = 'permissions' then
      select version into found_version from permissions where id = target for no key update;
    elsif table_name = 'roles' then
      select version into found_version from roles where id = target for no key update;
    elsif table_name = 'users' then
      select version into found_version from users where id = target for no key update;
    end if;
    return found_version;
  end
$$;

create function call_change(change text, request request, caller caller) returns outcome language sql as $$
  select case change
    when 'add_contributor' then add_contributor(request, caller)
    when 'add_permission' then add_permission(request, caller)
    when 'add_role' then add_role(request, caller)
    when 'check_session' then check_session(request, caller)
    when 'delete_contributor' then delete_contributor(request, caller)
    when 'delete_permission' then delete_permission(request, caller)
    when 'delete_role' then delete_role(request, caller)
    when 'delete_user' then delete_user(request, caller)
    when 'edit_contributor' then edit_contributor(request, caller)
    when 'edit_permission' then edit_permission(request, caller)
    when 'edit_role' then edit_role(request, caller)
    when 'edit_user' then edit_user(request, caller)
    when 'log_out_user' then log_out_user(request, caller)
    when 'prepare_avatar' then prepare_avatar(request, caller)
    when 'prepare_user_image' then prepare_user_image(request, caller)
    when 'release_contributor_lock' then release_contributor_lock(request, caller)
    when 'release_user_lock' then release_user_lock(request, caller)
    when 'set_avatar' then set_avatar(request, caller)
    when 'set_user_image' then set_user_image(request, caller)
    when 'sign_out' then sign_out(request, caller)
  end
$$;

create function call_operator_change(change text, request request) returns outcome language sql as $$
  select case change
    when 'claim_images' then claim_images(request)
    when 'create_user' then create_user(request)
    when 'end_sessions' then end_sessions(request)
    when 'import_records' then import_records(request)
    when 'link_identity' then link_identity(request)
    when 'list_former_images' then list_former_images(request)
    when 'merge_contributors' then merge_contributors(request)
    when 'open_session' then open_session(request)
    when 'restore_permissions' then restore_permissions(request)
    when 'tidy' then tidy(request)
    when 'undo_changes' then undo_changes(request)
    when 'unlist_images' then unlist_images(request)
  end
$$;
