import sql, { join, type Sql } from "sql-template-tag";
import { descriptionsLengthMax } from "../contract/parameters.ts";
import type { GuardedQuery } from "../database/query.ts";
import { allowed } from "./verdict.ts";

interface Description {
  readonly description?: string | undefined;
  readonly language?: string | undefined;
  readonly source?: string | undefined;
}

interface Relation {
  readonly relation_id?: number | undefined;
  readonly relation_type?: string | undefined;
}

interface Identified {
  readonly id: number;
}

export interface Edit {
  readonly first_name: string;
  readonly last_name: string | null;
  readonly gender: string | null;
  readonly type: string | null;
  readonly links: readonly string[];
  readonly public: boolean;
  readonly added_aliases: readonly string[];
  readonly removed_aliases: readonly number[];
  readonly added_descriptions: readonly Description[];
  readonly removed_descriptions: readonly number[];
  readonly modified_descriptions: readonly (Description & Identified)[];
  readonly added_relations: readonly Relation[];
  readonly removed_relations: readonly number[];
  readonly modified_relations: readonly (Relation & Identified)[];
}

/** What a contributor may have at most, so that its detail always fits an answer of Lambda. */
const aliasesMax = 200;
const relationsMax = 100;
const descriptionsMax = 200;

/**
 * Changes everything or nothing: each part that writes asks for the verdict. What is both modified and removed is
 * removed. An element of another contributor is an invalid parameter, and so is a relation to itself.
 */
export function edit(id: number, changes: Edit): GuardedQuery<null> {
  const contributor = sql`${id}::bigint`;
  return {
    with: sql`
      ${opened(changes)},
      blamed as (${blame(contributor)}),
      verdict as (
        select
          case
            when not exists (select from contributors where id = ${contributor}) then 404
            when exists (select from blamed) then 400
            when exists (
              select
              from contributors
              where
                identity_key(first_name) = identity_key(${changes.first_name}::text)
                and identity_key(last_name) = identity_key(${changes.last_name}::text)
                and id <> ${contributor}
            ) then 409
            else 200
          end as status
        from caller
      ),
      updated as (
        update contributors
        set
          first_name = ${changes.first_name}::text,
          last_name = ${changes.last_name}::text,
          gender = ${changes.gender}::text,
          type = ${changes.type}::text,
          public = ${changes.public}::boolean
        where id = ${contributor} and ${allowed}
        returning id
      ),
      ${aliases(contributor)},
      ${descriptions(contributor)},
      ${relations(contributor)},
      ${links(contributor)},
      released as (
        delete from contributor_locks
        where contributor_id = ${contributor} and holder_id in (select id from caller) and ${allowed}
      ),
    `,
    select: sql`
      select status, case status when 400 then (select to_json(parameter) from blamed) end
      from verdict
      where status <> 200
      union all
      select 200, null from updated
    `,
  };
}

/** The arrays of the request as tables; the Data API has no arrays, so each travels as one JSON text. */
const opened = (changes: Edit): Sql =>
  join(
    [
      table(
        "added_aliases",
        changes.added_aliases.map((name) => ({ name })),
        sql`name text`,
      ),
      table("removed_aliases", changes.removed_aliases.map(identified), sql`id bigint`),
      table("added_descriptions", changes.added_descriptions, sql`description text, language text, source text`),
      table("removed_descriptions", changes.removed_descriptions.map(identified), sql`id bigint`),
      table(
        "modified_descriptions",
        changes.modified_descriptions,
        sql`id bigint, description text, language text, source text`,
      ),
      table("added_relations", changes.added_relations, sql`relation_id bigint, relation_type text`),
      table("removed_relations", changes.removed_relations.map(identified), sql`id bigint`),
      table("modified_relations", changes.modified_relations, sql`id bigint, relation_id bigint, relation_type text`),
      table(
        "wanted_links",
        [...new Set(changes.links)].map((url, position) => ({ url, position })),
        sql`url text, position int`,
      ),
    ],
    ", ",
  );

const identified = (id: number): Identified => ({ id });

const tables = {
  added_aliases: sql`added_aliases`,
  removed_aliases: sql`removed_aliases`,
  added_descriptions: sql`added_descriptions`,
  removed_descriptions: sql`removed_descriptions`,
  modified_descriptions: sql`modified_descriptions`,
  added_relations: sql`added_relations`,
  removed_relations: sql`removed_relations`,
  modified_relations: sql`modified_relations`,
  wanted_links: sql`wanted_links`,
} as const;

const table = (name: keyof typeof tables, rows: readonly object[], columns: Sql): Sql => sql`
  ${tables[name]} as (
    select *
    from rows from (json_to_recordset(${JSON.stringify(rows)}::json) as (${columns})) with ordinality as given
  )
`;

/** The first parameter that cannot be accepted, as a row; none when all can. */
const blame = (contributor: Sql): Sql => sql`
  select parameter
  from (
    ${foreign("removed_aliases", sql`contributor_aliases`, contributor)}
    union all
    ${foreign("removed_descriptions", sql`contributor_descriptions`, contributor)}
    union all
    ${foreign("modified_descriptions", sql`contributor_descriptions`, contributor)}
    union all
    ${foreign("removed_relations", sql`contributor_relations`, contributor)}
    union all
    ${foreign("modified_relations", sql`contributor_relations`, contributor)}
    union all
    ${unrelatable("added_relations", contributor)}
    union all
    ${unrelatable("modified_relations", contributor)}
    union all
    select 'added_aliases'
    where (select count(*) from added_aliases) + (${kept(sql`contributor_aliases`, sql`removed_aliases`, contributor)}) > ${aliasesMax}::int
    union all
    select 'added_relations'
    where (select count(*) from added_relations) + (${kept(sql`contributor_relations`, sql`removed_relations`, contributor)}) > ${relationsMax}::int
    union all
    ${excessive(contributor)}
  ) as refused (parameter)
  limit 1
`;

/** Elements that are not the contributor's. */
const foreign = (parameter: keyof typeof tables, own: Sql, contributor: Sql): Sql => sql`
  select ${parameter}::text
  from ${tables[parameter]}
  where id not in (select id from ${own} where contributor_id = ${contributor})
`;

/** More descriptions, or longer ones, than a contributor may have once it is edited. */
const excessive = (contributor: Sql): Sql => sql`
  select case when exists (select from added_descriptions) then 'added_descriptions' else 'modified_descriptions' end
  from (
    select description, language, source
    from added_descriptions
    union all
    select
      coalesce(given.description, kept.description),
      coalesce(given.language, kept.language),
      coalesce(given.source, kept.source)
    from contributor_descriptions as kept left join modified_descriptions as given on given.id = kept.id
    where kept.contributor_id = ${contributor} and kept.id not in (select id from removed_descriptions)
  ) as resulting
  where exists (select from added_descriptions) or exists (select from modified_descriptions)
  having
    count(*) > ${descriptionsMax}::int
    or sum(length(description) + length(language) + length(source)) > ${descriptionsLengthMax}::int
`;

/** Relations to nobody, or to the contributor itself. */
const unrelatable = (parameter: keyof typeof tables, contributor: Sql): Sql => sql`
  select ${parameter}::text
  from ${tables[parameter]} as given
  where
    given.relation_id = ${contributor}
    or (given.relation_id is not null and not exists (select from contributors where id = given.relation_id))
`;

const kept = (own: Sql, removed: Sql, contributor: Sql): Sql => sql`
  select count(*)
  from ${own}
  where contributor_id = ${contributor} and id not in (select id from ${removed})
`;

const aliases = (contributor: Sql): Sql => sql`
  cleared_aliases as (
    delete from contributor_aliases
    where contributor_id = ${contributor} and id in (select id from removed_aliases) and ${allowed}
  ),
  filled_aliases as (
    insert into contributor_aliases (contributor_id, name)
    select ${contributor}, name
    from added_aliases
    where ${allowed}
    order by ordinality
  )
`;

const descriptions = (contributor: Sql): Sql => sql`
  cleared_descriptions as (
    delete from contributor_descriptions
    where contributor_id = ${contributor} and id in (select id from removed_descriptions) and ${allowed}
  ),
  changed_descriptions as (
    update contributor_descriptions as kept
    set
      description = coalesce(given.description, kept.description),
      language = coalesce(given.language, kept.language),
      source = coalesce(given.source, kept.source)
    from modified_descriptions as given
    where
      kept.contributor_id = ${contributor}
      and kept.id = given.id
      and kept.id not in (select id from removed_descriptions)
      and ${allowed}
  ),
  filled_descriptions as (
    insert into contributor_descriptions (contributor_id, description, language, source)
    select ${contributor}, description, language, source
    from added_descriptions
    where ${allowed}
    order by ordinality
  )
`;

const relations = (contributor: Sql): Sql => sql`
  cleared_relations as (
    delete from contributor_relations
    where contributor_id = ${contributor} and id in (select id from removed_relations) and ${allowed}
  ),
  changed_relations as (
    update contributor_relations as kept
    set
      relation_id = coalesce(given.relation_id, kept.relation_id),
      relation_type = coalesce(given.relation_type, kept.relation_type)
    from modified_relations as given
    where
      kept.contributor_id = ${contributor}
      and kept.id = given.id
      and kept.id not in (select id from removed_relations)
      and ${allowed}
  ),
  filled_relations as (
    insert into contributor_relations (contributor_id, relation_id, relation_type)
    select ${contributor}, relation_id, relation_type
    from added_relations
    where ${allowed}
    order by ordinality
  )
`;

/** Links are replaced place by place: deleting all and inserting anew would meet itself in the primary key. */
const links = (contributor: Sql): Sql => sql`
  cleared_links as (
    delete from contributor_links
    where
      contributor_id = ${contributor}
      and position >= (select count(*) from wanted_links)
      and ${allowed}
  ),
  filled_links as (
    insert into contributor_links (contributor_id, position, url)
    select ${contributor}, position, url
    from wanted_links
    where ${allowed}
    on conflict (contributor_id, position) do update
    set url = excluded.url
  )
`;
