-- A record with all that belongs to it, as the ledger stores it when it is deleted; null if there is none.
create function user_record(target bigint) returns json language sql stable as $$
  select row_to_json(record)
  from (
    select
      id, username, slug, age_verified, image, registered, version,
      array(select role_id from user_roles where user_id = target order by role_id) as roles
    from users
    where id = target
  ) as record
$$;

create function role_record(target bigint) returns json language sql stable as $$
  select row_to_json(record)
  from (
    select
      id, key, name, description, is_default, version,
      array(select permission_id from role_permissions where role_id = target order by permission_id) as permissions
    from roles
    where id = target
  ) as record
$$;

create function permission_record(target bigint) returns json language sql stable as $$
  select row_to_json(record)
  from (select id, key, name, description, version from permissions where id = target) as record
$$;

-- A role with its users, and a permission with its roles.
create function role_with_users(target bigint) returns jsonb language sql stable as $$
  select jsonb_build_object(
    'role', role_record(target),
    'users', array(select user_id from user_roles where role_id = target order by user_id)
  )
$$;

create function permission_with_roles(target bigint) returns jsonb language sql stable as $$
  select jsonb_build_object(
    'permission', permission_record(target),
    'roles', array(select role_id from role_permissions where permission_id = target order by role_id)
  )
$$;

create function contributor_record(target bigint) returns json language sql stable as $$
  select row_to_json(record)
  from (
    select
      id, external_id, client_id, first_name, last_name, slug, gender, type, public, image, random_key, version,
      array(select slug from former_slugs where contributor_id = target order by slug) as former_slugs,
      array(select url from contributor_links where contributor_id = target order by position) as links,
      (
        select coalesce(json_agg(json_build_object('id', id, 'name', name) order by id), '[]')
        from contributor_aliases
        where contributor_id = target
      ) as aliases,
      (
        select coalesce(json_agg(row_to_json(text) order by id), '[]')
        from contributor_descriptions as text
        where contributor_id = target
      ) as descriptions,
      (
        select coalesce(json_agg(row_to_json(relation) order by id), '[]')
        from contributor_relations as relation
        where contributor_id = target
      ) as relations,
      (
        select coalesce(json_agg(row_to_json(relation) order by id), '[]')
        from contributor_relations as relation
        where relation_id = target
      ) as incoming_relations,
      (
        select coalesce(json_agg(json_build_object('id', series_id, 'role', role) order by series_id), '[]')
        from series_contributors
        where contributor_id = target
      ) as series
    from contributors
    where id = target
  ) as record
$$;

-- What an edit replaced, from the record before and after it: the former values of fields, and of a list of ids those
-- that were added and those that were removed. So a row is never much longer than its request and what it dropped.
create function replaced(before json, after json) returns jsonb language sql immutable as $$
  with field as (
    select key, old.value as old, new.value as new
    from json_each(before) as old join json_each(after) as new using (key)
    where cast(old.value as text) <> cast(new.value as text)
  )
  select coalesce(jsonb_object_agg(name, value), '{}')
  from (
    select key, cast(old as jsonb) from field where json_typeof(old) <> 'array'
    union all
    select 'added_' || key, to_jsonb(without(ids(new), ids(old))) from field where json_typeof(old) = 'array'
    union all
    select 'removed_' || key, to_jsonb(without(ids(old), ids(new))) from field where json_typeof(old) = 'array'
  ) as part (name, value)
  where value <> '[]'
$$;
