import sql, { empty, type Sql } from "sql-template-tag";
import type { Answer } from "../contract/declare.ts";
import type { ListQuery } from "../database/list.ts";
import type { PublicQuery } from "../database/query.ts";
import { type CatalogueOrder, catalogueOrder, named } from "./filters.ts";
import { imageUrl } from "./images.ts";
import { randomSlug } from "./random.ts";
import { relatedWorks, seriesAliases, type WorksInput } from "./works.ts";

interface ListInput {
  readonly search: string | undefined;
  readonly order: CatalogueOrder | undefined;
}

/** Publishers of every client; in the order they were added where none is asked for. */
export function list({ search, order = "added-asc" }: ListInput): ListQuery<Answer<"PublisherListItem">> {
  const { key, by, behind } = catalogueOrder(order);
  return {
    max:
      search === undefined
        ? sql`select coalesce(sum(tally), 0)::bigint from tallies where subject = 'publishers' and scope = 0`
        : sql`select count(*) from publishers where true ${named(sql`name_key`, search)}`,
    page: ({ after, offset, limit }) => sql`
      select
        publishers.id,
        publishers.${key},
        json_build_object(
          'id', id,
          'name', name,
          'short-name', coalesce(short_name, ''),
          'slug', slug,
          'country', coalesce(country, ''),
          'website', coalesce(website, ''),
          'headquarter', coalesce(headquarter, ''),
          'series_count', (select count(*) from series_publishers where publisher_id = publishers.id),
          'founding_date', coalesce(founding_date::text, ''),
          'image', coalesce(${imageUrl(sql`image`)}, ''),
          'image_source', coalesce(image_source, '')
        )
      from (
        select *
        from publishers
        where true ${named(sql`name_key`, search)} ${behind(after)}
        order by ${by}
        limit ${limit}::bigint
        offset ${offset}::bigint
      ) as publishers
      order by ${by}
    `,
  };
}

export const find = (slug: string | null): PublicQuery<Answer<"Publisher">> => ({
  select: sql`
    select
      json_build_object(
        'id', id,
        'name', name,
        'slug', slug,
        'image', coalesce(${imageUrl(sql`image`)}, ''),
        'website', coalesce(website, ''),
        'domain', coalesce(domain, ''),
        'country', coalesce(country, ''),
        'descriptions', ${descriptions},
        'aliases', ${aliases},
        'relations', ${relations}
      )
    from publishers
    where slug = ${slug}::text
  `,
});

export const random = (client: number): PublicQuery<Answer<"Slug">> => ({
  select: randomSlug(sql`publishers`, client, empty),
});

export const publications = (publisher: number | null, input: WorksInput): ListQuery<Answer<"Publication">> =>
  relatedWorks(
    sql`series_publishers as link`,
    sql`link.publisher_id = ${publisher}::bigint`,
    input,
    sql`, 'aliases', ${seriesAliases}`,
  );

const descriptions: Sql = sql`
  (
    select
      coalesce(
        json_agg(
          json_build_object('id', id, 'description', description, 'language', language, 'source', source) order by id
        ),
        '[]'
      )
    from publisher_descriptions
    where publisher_id = publishers.id
  )
`;

const aliases: Sql = sql`
  (
    select coalesce(json_agg(json_build_object('id', id, 'title', title, 'language', language) order by id), '[]')
    from publisher_aliases
    where publisher_id = publishers.id
  )
`;

const relations: Sql = sql`
  (
    select
      coalesce(
        json_agg(
          json_build_object(
            'id', relation.id,
            'relation_id', related.id,
            'type', relation.type,
            'name', related.name,
            'image', coalesce(${imageUrl(sql`related.image`)}, ''),
            'slug', related.slug
          )
          order by relation.id
        ),
        '[]'
      )
    from publisher_relations as relation join publishers as related on related.id = relation.relation_id
    where relation.publisher_id = publishers.id
  )
`;
