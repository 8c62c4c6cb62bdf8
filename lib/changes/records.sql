-- A record with all that belongs to it, as the ledger stores it from before a change; null if there is none.
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

create function contributor_record(target bigint) returns json language sql stable as $$
  select row_to_json(record)
  from (
    select
      id, client_id, first_name, last_name, slug, gender, type, public, image, version,
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
      ) as relations
    from contributors
    where id = target
  ) as record
$$;
