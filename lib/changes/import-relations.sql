-- A relation that a line wants, from one record to another one; `place` counts those that one record is to get.
create type import_relation as (line bigint, owner bigint, other bigint, type text, place bigint);

create function has_relation(kind text, relation import_relation) returns boolean language plpgsql stable as $$
  begin
    if kind = 'contributor' then
      return exists (
        select
        from contributor_relations
        where contributor_id = relation.owner and relation_id = relation.other and relation_type = relation.type
      );
    end if;
    return exists (
      select
      from publisher_relations as stored
      where publisher_id = relation.owner and relation_id = relation.other and stored.type = relation.type
    );
  end
$$;

create function relation_count(kind text, owner bigint) returns bigint language plpgsql stable as $$
  begin
    return case kind
      when 'contributor' then (select count(*) from contributor_relations where contributor_id = owner)
      else (select count(*) from publisher_relations where publisher_id = owner)
    end;
  end
$$;

-- In a dry run a line has no name of a record that an earlier batch would have added; a negative number stands for it.
create function wanted_relations(items jsonb, kind text, fresh jsonb) returns import_relation[]
  language sql stable as $$
  select array(
    select cast(
      row(
        number,
        case when "from" is null then -number else referred_id(kind, "from", number, fresh) end,
        case when "to" is null then -number - 1 else referred_id(kind, "to", number, fresh) end,
        type,
        null
      ) as import_relation
    )
    from jsonb_to_recordset(items) as item (number bigint, "from" text, "to" text, type text)
  )
$$;

-- Those that are not there yet, each once.
create function new_relations(wanted import_relation[], kind text) returns import_relation[] language sql stable as $$
  select array(
    select cast(
      row(min(line), owner, other, type, row_number() over (partition by owner order by min(line))) as import_relation
    )
    from unnest(wanted) as relation
    where owner <> other and not has_relation(kind, relation)
    group by owner, other, type
    order by min(line)
  )
$$;

-- Those that there is room for.
create function fitting_relations(wanted import_relation[], kind text) returns import_relation[]
  language sql stable as $$
  select array(
    select relation from unnest(wanted) as relation where place <= 100 - relation_count(kind, owner) order by line
  )
$$;

-- Why lines are refused: `latest` are the relations that are not there yet.
create function refused_relations(wanted import_relation[], latest import_relation[], kind text) returns jsonb
  language sql stable as $$
  select coalesce(jsonb_agg(refusal), '[]')
  from (
    select refusal(
      line,
      case when owner is null then 'from' else 'to' end,
      case when owner = other then 'same' else 'unknown' end
    )
    from unnest(wanted)
    where owner is null or other is null or owner = other
    union all
    select refusal(line, 'from', 'full') from unnest(latest) where place > 100 - relation_count(kind, owner)
  ) as refused (refusal)
$$;

-- Adds relations of contributors, whom the caller has locked.
create function import_contributor_relations(items jsonb, fresh jsonb) returns import_result language plpgsql as $$
  declare
    wanted import_relation[] = wanted_relations(items, 'contributor', fresh);
    latest import_relation[] = new_relations(wanted, 'contributor');
    relations import_relation[] = fitting_relations(latest, 'contributor');
    refusals jsonb = refused_relations(wanted, latest, 'contributor');
  begin
    if relations <> '{}' then
      insert into contributor_relations (contributor_id, relation_id, relation_type)
      select owner, other, type from unnest(relations) where owner > 0 and other > 0 order by line;
      update contributors
      set version = version + 1
      where id = any(array(select owner from unnest(relations)));
    end if;
    return cast(row(cardinality(relations), 0, refusals, '{}', '{}') as import_result);
  end
$$;

create function import_publisher_relations(items jsonb, fresh jsonb) returns import_result language plpgsql as $$
  declare
    wanted import_relation[] = wanted_relations(items, 'publisher', fresh);
    latest import_relation[] = new_relations(wanted, 'publisher');
    relations import_relation[] = fitting_relations(latest, 'publisher');
    refusals jsonb = refused_relations(wanted, latest, 'publisher');
  begin
    if relations <> '{}' then
      insert into publisher_relations (publisher_id, relation_id, type)
      select owner, other, type from unnest(relations) where owner > 0 and other > 0 order by line;
    end if;
    return cast(row(cardinality(relations), 0, refusals, '{}', '{}') as import_result);
  end
$$;
