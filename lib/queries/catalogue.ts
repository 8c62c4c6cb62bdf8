import sql, { raw, type Sql } from "sql-template-tag";
import { resultBytesMax } from "../data-api/chunks.ts";

export interface Range {
  /** Default: the records of all clients. */
  readonly client: number | undefined;
  readonly after: number;
  readonly limit: number;
}

/**
 * The records of a kind as the lines of a file (lib/operators/README.md), by their ids: a select of `id` and `line`. A
 * line has the fields in the order of that page, without those that are null, empty or as a new record has them, so the
 * same catalogue always gives the same text.
 */
const selects = {
  client: ({ client, after, limit }) => sql`
    select clients.id, ${line}
    from clients cross join lateral (select 'client' as kind, clients.id, clients.name) as fields
    where clients.id > ${after}::bigint and ${client === undefined ? sql`true` : sql`clients.id = ${client}::bigint`}
    order by clients.id
    limit ${limit}::bigint
  `,
  publisher: ({ client, after, limit }) => sql`
    select id, ${line}
    from
      publishers
      cross join lateral (
        select
          'publisher' as kind,
          ${reference("publishers")} as "externalId",
          slug,
          client_id as client,
          name,
          nullif(short_name, '') as short_name,
          nullif(country, '') as country,
          nullif(website, '') as website,
          nullif(headquarter, '') as headquarter,
          founding_date,
          nullif(image, '') as image,
          nullif(image_source, '') as image_source,
          (
            select json_agg(json_build_object('title', title, 'language', language) order by publisher_aliases.id)
            from publisher_aliases
            where publisher_id = publishers.id
          ) as aliases,
          (
            select
              json_agg(
                json_build_object('language', language, 'description', description, 'source', nullif(source, ''))
                order by publisher_descriptions.id
              )
            from publisher_descriptions
            where publisher_id = publishers.id
          ) as descriptions
      ) as fields
    where id > ${after}::bigint and ${isOf(client, "publishers")}
    order by id
    limit ${limit}::bigint
  `,
  "publisher-relation": ({ client, after, limit }) => sql`
    select publisher_relations.id, ${line}
    from
      publisher_relations
      join publishers on publishers.id = publisher_id
      join publishers as related on related.id = relation_id
      cross join lateral (
        select
          'publisher-relation' as kind,
          ${reference("publishers")} as "from",
          ${reference("related")} as "to",
          publisher_relations.type
      ) as fields
    where
      publisher_relations.id > ${after}::bigint
      and ${isOf(client, "publishers")}
      and ${isOf(client, "related")}
      -- a relation that is there twice is one
      and not exists (
        select
        from publisher_relations as same
        where
          same.publisher_id = publisher_relations.publisher_id
          and same.relation_id = publisher_relations.relation_id
          and same.type = publisher_relations.type
          and same.id < publisher_relations.id
      )
    order by publisher_relations.id
    limit ${limit}::bigint
  `,
  contributor: ({ client, after, limit }) => sql`
    select id, ${line}
    from
      contributors
      cross join lateral (
        select
          'contributor' as kind,
          ${reference("contributors")} as "externalId",
          slug,
          client_id as client,
          nullif(public, false) as public,
          first_name,
          nullif(last_name, '') as last_name,
          nullif(gender, '') as gender,
          nullif(type, '') as type,
          nullif(image, '') as image,
          (
            select json_agg(url order by position)
            from contributor_links
            where contributor_id = contributors.id
          ) as links,
          (
            select json_agg(name order by contributor_aliases.id)
            from contributor_aliases
            where contributor_id = contributors.id
          ) as aliases,
          (
            select
              json_agg(
                json_build_object('language', language, 'description', description, 'source', nullif(source, ''))
                order by contributor_descriptions.id
              )
            from contributor_descriptions
            where contributor_id = contributors.id
          ) as descriptions
      ) as fields
    where id > ${after}::bigint and ${isOf(client, "contributors")}
    order by id
    limit ${limit}::bigint
  `,
  "contributor-relation": ({ client, after, limit }) => sql`
    select contributor_relations.id, ${line}
    from
      contributor_relations
      join contributors on contributors.id = contributor_id
      join contributors as related on related.id = relation_id
      cross join lateral (
        select
          'contributor-relation' as kind,
          ${reference("contributors")} as "from",
          ${reference("related")} as "to",
          relation_type
      ) as fields
    where
      contributor_relations.id > ${after}::bigint
      and ${isOf(client, "contributors")}
      and ${isOf(client, "related")}
      and not exists (
        select
        from contributor_relations as same
        where
          same.contributor_id = contributor_relations.contributor_id
          and same.relation_id = contributor_relations.relation_id
          and same.relation_type = contributor_relations.relation_type
          and same.id < contributor_relations.id
      )
    order by contributor_relations.id
    limit ${limit}::bigint
  `,
  series: ({ client, after, limit }) => sql`
    select id, ${line}
    from
      series
      cross join lateral (
        select
          'series' as kind,
          ${reference("series")} as "externalId",
          slug,
          client_id as client,
          name,
          nullif(type, '') as type,
          nullif(origin, '') as origin,
          (
            select json_agg(tags.name order by tags.name collate "C")
            from series_tags join tags on tags.id = tag_id
            where series_id = series.id
          ) as tags,
          (
            select json_agg(json_build_object('name', name, 'language', language) order by series_aliases.id)
            from series_aliases
            where series_id = series.id
          ) as aliases,
          (
            select
              json_agg(
                json_build_object('language', language, 'description', description) order by series_descriptions.id
              )
            from series_descriptions
            where series_id = series.id
          ) as descriptions,
          (
            select
              json_agg(
                json_build_object(
                  'number', number,
                  'cover', nullif(cover, ''),
                  'aspect_ratio', nullif(aspect_ratio, 0.7),
                  'nsfw', nullif(nsfw, 0),
                  'nsfw18', nullif(nsfw18, 0)
                )
                order by number
              )
            from volumes
            where series_id = series.id
          ) as volumes,
          (
            select
              json_agg(
                json_build_object('contributor', ${reference("contributors")}, 'role', nullif(role, ''))
                order by contributors.id
              )
            from series_contributors join contributors on contributors.id = contributor_id
            where series_id = series.id and ${isOf(client, "contributors")}
          ) as contributors,
          (
            select json_agg(${reference("publishers")} order by publishers.id)
            from series_publishers join publishers on publishers.id = publisher_id
            where series_id = series.id and ${isOf(client, "publishers")}
          ) as publishers
      ) as fields
    where id > ${after}::bigint and ${isOf(client, "series")}
    order by id
    limit ${limit}::bigint
  `,
} satisfies Readonly<Record<string, (range: Range) => Sql>>;

type Kind = keyof typeof selects;

/** The kinds of lines, so that a reference leads to an earlier line. */
export const kinds = [
  "client",
  "publisher",
  "publisher-relation",
  "contributor",
  "contributor-relation",
  "series",
] as const satisfies readonly Kind[];

/**
 * As many lines of a kind as fit into a result, and at least one: a row of their `text`, their `count` and the id after
 * which the next ones come, or null after the last line.
 */
export const lines = (kind: Kind, range: Range): Sql => sql`
  with
    page as materialized (${selects[kind](range)}),
    -- a materialized page keeps its order, so the window functions follow it
    measured as (
      select *, row_number() over () as position, sum(octet_length(line) + 1) over (rows unbounded preceding) as bytes
      from page
    )
  select
    string_agg(line || chr(10), '' order by position) as text,
    count(*) as count,
    case
      when count(*) < (select count(*) from page) or count(*) = ${range.limit}::bigint then max(id)
    end as next_id
  from measured
  where bytes <= ${raw(`${resultBytesMax}`)} or position = 1
`;

/**
 * How many references of a client's records the lines leave out, since they lead to another client's: those between
 * records that the client shares with others.
 */
export const leftOut = (client: number): Sql => sql`
  select
    (
      select count(*)
      from
        publisher_relations
        join publishers on publishers.id = publisher_id
        join publishers as related on related.id = relation_id
      where ${isOf(client, "publishers")} <> ${isOf(client, "related")}
    ) + (
      select count(*)
      from
        contributor_relations
        join contributors on contributors.id = contributor_id
        join contributors as related on related.id = relation_id
      where ${isOf(client, "contributors")} <> ${isOf(client, "related")}
    ) + (
      select count(*)
      from
        series_contributors
        join series on series.id = series_id
        join contributors on contributors.id = contributor_id
      where ${isOf(client, "series")} and not ${isOf(client, "contributors")}
    ) + (
      select count(*)
      from
        series_publishers
        join series on series.id = series_id
        join publishers on publishers.id = publisher_id
      where ${isOf(client, "series")} and not ${isOf(client, "publishers")}
    )
`;

/** The fields as JSON. Without nulls it is compact, too. */
const line = sql`cast(json_strip_nulls(row_to_json(fields)) as text) as line`;

/** What a file calls a record of this table. */
const reference = (table: string): Sql => raw(`coalesce(${table}.external_id, 'slug:' || ${table}.slug)`);

/** Whether a record of this table is in the client's scope. */
const isOf = (client: number | undefined, table: string): Sql =>
  client === undefined ? sql`true` : sql`(${raw(table)}.scope in (0, ${client}::bigint))`;
