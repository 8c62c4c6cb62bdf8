import { kinds } from "../../lib/operators/transfer/catalogue-lines.ts";
import type { Column, LineTable, List } from "../../lib/queries/catalogue.ts";

const tables: readonly LineTable[] = Object.values(kinds);

/** What writes the tables of lines. It is static, so PostgreSQL keeps its plans. */
export const importTables = (): string => `-- The tables of the lines of a catalogue, as imports write them.
-- Written by npm run statements.
${tables.flatMap((each) => [...each.lists.map((list) => replaceList(each, list)), writeTable(each)]).join("")}
-- Writes lines as if each could be written. Records come before what references them.
create function write_lines(lines import_line[], records jsonb) returns setof import_outcome language plpgsql as $$
  declare
    targets text[] = array(select distinct table_name from unnest(lines));
  begin${tables
    .map(
      ({ table }) => `
    if '${table}' = any(targets) then
      return query
        select * from write_${table}(lines_about('${table}', lines, records), records);
    end if;`,
    )
    .join("")}
    perform expect_slugs(lines, records);
  end
$$;
`;

const writeTable = (table: LineTable): string =>
  table.columns.some(({ name }) => name === "id") ? writeRecords(table) : writeRelations(table);

/** The database counts the changes of contributors. */
const isVersioned = ({ table }: LineTable): boolean => table.startsWith("contributor");

function writeRecords(record: LineTable): string {
  const { table, columns, lists } = record;
  const isOfClients = columns.some(({ name }) => name === "client_id");
  const named = namesOf(columns).filter((name) => name !== "id" && name !== "slug");
  const written = ["id", ...(isOfClients ? ["external_id", "slug", "alias_keys"] : []), ...named];
  const derived = withoutDerived(columns);
  const isPublished = named.includes("public") ? "new.public and old.public is not true" : "false";
  return `
-- Adds and edits ${table}, in the order of their lines: a later line may take what an earlier one gives up.
create function write_${table}(lines import_line[], records jsonb) returns setof import_outcome
  language plpgsql as $$
  declare
    outcomes import_outcome[];${lists.length > 0 ? listVariables : ""}
  begin
    with written as (
      insert into ${table} as stored (
        ${wrapped(written)}
      )
      overriding system value
      select
        ${wrapped(prefixed("record", written))}
      from
        unnest(lines) as line
        cross join lateral (
          select (select stored from ${table} as stored where stored.id = line.id)
        ) as found (current)
        cross join lateral jsonb_populate_record(
          current,
          ${isOfClients ? `${newRecord(record)} || ` : ""}object || jsonb_build_object(
            ${["'id', line.id", ...(isOfClients ? [clientOf] : [])].join(",\n            ")}
          )
        ) as ${derived === "" ? "record" : `named${derived}`}
      where record is distinct from current
      order by number
      on conflict (id) do update
      set
        ${wrapped([
          ...named.map((name) => `${name} = excluded.${name}`),
          ...(isVersioned(record) ? ["version = stored.version + 1"] : []),
        ])}
      returning
        cast(null as bigint), '${table}', new.id, case when old.id is null then 'added' else 'changed' end,
        old.${isOfClients ? "client_id" : "id"}, ${isPublished}, cast(null as text)
    )
    select coalesce(array_agg(cast(row(written.*) as import_outcome)), '{}') into outcomes from written;
${lists.length > 0 ? replacedLists(record) : ""}    return query select * from unnest(outcomes);
  end
$$;
`;
}

/** A value that follows from other columns is stored as null, so that it still follows after a change of these. */
function withoutDerived(columns: readonly Column[]): string {
  const [column, ...others] = columns.filter(({ derived }) => derived !== undefined);
  if (column === undefined) return "";
  if (others.length > 0) throw new TypeError("An import writes at most one derived column of a table");
  return `
        cross join lateral jsonb_populate_record(
          named,
          case
            when named.${column.name} = ${column.derived}
            then jsonb_build_object('${column.name}', null)
          end
        ) as record`;
}

/** A record stays its client's if the line does not say any. */
const clientOf = `'client_id', case
              when object ? 'client_id' then record_id(records, 'clients', object ->> 'client_id', number)
              else (current).client_id
            end`;

const listVariables = `
    listed text[] = array(select distinct jsonb_object_keys(lists) from unnest(lines));
    relisted bigint[] = '{}';`;

/** The values of a new record that its line omits. The keys of aliases are as their trigger would make them. */
function newRecord({ columns, lists }: LineTable): string {
  const empty = Object.fromEntries(
    columns.flatMap(({ name, empty = null }) => (empty === null ? [] : [[name, empty]])),
  );
  const aliases = lists.find(({ table }) => table.endsWith("_aliases"));
  return `case when (current).id is null then '${JSON.stringify(empty)}' || jsonb_build_object(
            'external_id', object ->> 'id',
            'slug', coalesce(named_slug(object ->> 'id'), made),
            'alias_keys', coalesce(
              (
                select string_agg(search_key(element ->> '${aliases?.columns[0]?.name}'), chr(10) order by position)
                from jsonb_array_elements(lists -> '${aliases?.table}') with ordinality as alias (element, position)
              ),
              ''
            )
          ) else '{}' end`;
}

const replacedLists = (record: LineTable): string => `${record.lists
  .map(
    ({ table }) => `    if '${table}' = any(listed) then
      relisted = relisted || replace_${table}(lines, records);
    end if;
`,
  )
  .join("")}    relisted = array(select unnest(relisted) except select id from unnest(outcomes));
    if relisted <> '{}' then
${isVersioned(record) ? `      update ${record.table} set version = version + 1 where id = any(relisted);\n` : ""}      outcomes = outcomes || array(
        select cast(row(null, '${record.table}', id, 'changed', client_id, false, null) as import_outcome)
        from ${record.table}
        where id = any(relisted)
      );
    end if;
`;

function replaceList(record: LineTable, { table, columns, key }: List): string {
  const owner = ownerOf(record);
  const names = [owner, ...namesOf(columns), ...(key === "position" ? ["position"] : [])];
  const all = names.join(", ");
  const isTags = columns.some(({ parent }) => parent === "tags");
  return `
-- Makes ${table} those of the lines; returns the owners whose ${table} were others.
create function replace_${table}(lines import_line[], records jsonb) returns bigint[]
  language plpgsql as $$
  declare
    stored ${table}[] = array(
      select element
      from ${table} as element
      where ${owner} = any(array(
        select line.id from unnest(lines) as line where lists ? '${table}'
      ))${key === undefined ? "\n      order by id" : ""}
    );
    requested ${table}[];
    changed bigint[];
  begin${
    isTags
      ? `
    insert into tags (name)
    select element ->> 'tag_id'
    from
      unnest(lines)
      cross join lateral jsonb_array_elements(lists -> '${table}')
        with ordinality as listed (element, position)
    where not exists (select from tags where identity_key(name) = identity_key(element ->> 'tag_id'))
    order by number, position
    on conflict do nothing;`
      : ""
  }
    requested = array(
      select jsonb_populate_record(cast(null as ${table}), element || jsonb_build_object(
        ${[`'${owner}', line.id`, ...references("element", columns)].join(",\n        ")}
      ))
      from
        unnest(lines) as line
        cross join lateral jsonb_array_elements(lists -> '${table}')
          with ordinality as listed (element, position)
      order by number, position
    );
    changed = array(
      select ${owner}
      from (
        (
          select ${all} from unnest(requested)
          except all
          select ${all} from unnest(stored)
        )
        union all
        (
          select ${all} from unnest(stored)
          except all
          select ${all} from unnest(requested)
        )
      ) as different
      group by ${owner}
    );
    if changed <> '{}' then${key === undefined ? replaceBag(table, owner, names) : replaceKeyed(table, owner, key, names)}
    end if;
    return changed;
  end
$$;
`;
}

/** Elements are the same by all values, and may be there more than once. */
function replaceBag(table: string, owner: string, names: readonly string[]): string {
  const all = names.join(", ");
  return `
      if stored <> '{}' then
        delete from ${table}
        where
          ${owner} = any(changed)
          and id in (
            select id
            from (
              select *, row_number() over (
                partition by ${all} order by id
              ) as copy
              from unnest(stored)
            ) as element
            where (${all}, copy) not in (
              select ${all}, row_number() over same
              from unnest(requested)
              window same as (partition by ${all})
            )
          );
      end if;
      insert into ${table} (${all})
      select ${all}
      from (
        select *, row_number() over (
          partition by ${all} order by ordinality
        ) as copy
        from unnest(requested) with ordinality
      ) as element
      where (${all}, copy) not in (
        select ${all}, row_number() over same
        from unnest(stored)
        window same as (partition by ${all})
      )
      order by ordinality;`;
}

/** Elements are the same by a key. */
function replaceKeyed(table: string, owner: string, key: string, names: readonly string[]): string {
  const all = names.join(", ");
  const others = names.filter((name) => name !== owner && name !== key);
  return `
      if stored <> '{}' then
        delete from ${table}
        where
          ${owner} = any(changed)
          and (${owner}, ${key}) not in (select ${owner}, ${key} from unnest(requested));
      end if;
      insert into ${table} (${all})
      select ${all} from unnest(requested)
      except
      select ${all} from unnest(stored)${
        others.length > 0
          ? `
      on conflict (${owner}, ${key}) do update
      set ${others.map((name) => `${name} = excluded.${name}`).join(", ")}`
          : ""
      };`;
}

function writeRelations(relation: LineTable): string {
  const { table, columns } = relation;
  const [{ name: owner, parent } = { name: "", parent: "" }] = columns;
  const all = namesOf(columns);
  return `
-- Adds relations. One that is there is not added again.
create function write_${table}(lines import_line[], records jsonb) returns setof import_outcome
  language plpgsql as $$
  declare
    max bigint = (select listed.max from history_tables() as listed where table_name = '${table}');
    owners bigint[];
  begin
    with added as (
      insert into ${table} (${all.join(", ")})
      select ${all.join(", ")}
      from
        unnest(lines)
        cross join lateral jsonb_populate_record(cast(null as ${table}), object || jsonb_build_object(
          ${references("object", columns).join(",\n          ")}
        )) as relation
      where not exists (
        select
        from ${table} as stored
        where
          ${all.map((name) => `stored.${name} = relation.${name}`).join("\n          and ")}
      )
      group by ${all.join(", ")}
      order by min(number)
      returning ${owner}
    )
    select coalesce(array_agg(${owner}), '{}') into owners from added;
    if exists (
      select from ${table} where ${owner} = any(owners) group by ${owner} having count(*) > max
    ) then
      raise integrity_constraint_violation
        using message = format('The ${owner.replace(/_id$/, "")} would have more than %s relations', max);
    end if;
${
  isVersioned(relation)
    ? `    update ${parent}
    set version = version + number
    from (select owner, count(*) from unnest(owners) as owner group by owner) as added (owner, number)
    where id = owner;
`
    : ""
}    return query
      select
        cast(null as bigint), '${table}', owner, 'added', cast(null as bigint), false, cast(null as text)
      from unnest(owners) as owner;
  end
$$;
`;
}

const namesOf = (columns: readonly Column[]): readonly string[] => columns.map(({ name }) => name);
const prefixed = (prefix: string, names: readonly string[]): string[] => names.map((name) => `${prefix}.${name}`);
const ownerOf = (record: LineTable): string =>
  `${Object.entries(kinds).find(([, { table }]) => table === record.table)?.[0]}_id`;

/** The ids of the records that an object names, after their columns. */
const references = (object: string, columns: readonly Column[]): readonly string[] =>
  columns.flatMap(({ name, parent }) => {
    if (parent === undefined || name === "id") return [];
    if (parent === "tags")
      return `'${name}', (select tags.id from tags where identity_key(name) = identity_key(${object} ->> '${name}'))`;
    return `'${name}', record_id(records, '${parent}', ${object} ->> '${name}', number)`;
  });

/** Names in lines of 120 characters. */
const wrapped = (parts: readonly string[]): string =>
  parts
    .reduce<string[]>(([line, ...before], part) => {
      if (line === undefined) return [part];
      return line.length + part.length < 108 ? [`${line}, ${part}`, ...before] : [part, `${line},`, ...before];
    }, [])
    .reverse()
    .join("\n        ");
