import sql, { empty } from "sql-template-tag";
import type { Answer } from "../contract/declare.ts";
import type { ListQuery } from "../data-api/list.ts";
import type { PublicQuery } from "../data-api/query.ts";
import {
  type CatalogueOrder,
  catalogueOrder,
  nameContains,
  type Pages,
  pagesOfFew,
  type TableOrder,
} from "./fragments/filters.ts";
import { imageUrl } from "./fragments/images.ts";
import { recordOf, records } from "./fragments/json.ts";
import { randomSlug } from "./fragments/random.ts";
import { relatedWorks, seriesAliases, type WorksInput } from "./works.ts";

interface ListInput {
  readonly search: string | undefined;
  readonly order: CatalogueOrder | undefined;
}

/** Publishers of all clients; by default in the order in which they were added. */
export function list({ search, order = "added-asc" }: ListInput): ListQuery<Answer<"PublisherListItem">> {
  const sorted = catalogueOrder(order);
  const { page, ...matches } = pagesOf(search, sorted);
  return {
    ...matches,
    fields: sql`
        id, name, coalesce(short_name, '') as "short-name", slug, coalesce(country, '') as country,
        coalesce(website, '') as website, coalesce(headquarter, '') as headquarter,
        (select count(*) from series_publishers where publisher_id = publishers.id) as series_count,
        coalesce(cast(founding_date as text), '') as founding_date, coalesce(${imageUrl(sql`image`)}, '') as image,
        coalesce(image_source, '') as image_source
    `,
    key: sql`key`,
    rows: (slice) => sql`
      from (${page(slice)}) as publishers
      order by ${sorted.ofPage.by}
    `,
  };
}

function pagesOf(search: string | undefined, order: TableOrder): Pages {
  const { key, by, startAfter } = order;
  if (search !== undefined)
    return pagesOfFew(
      sql`select *, ${key} as key from publishers where true ${nameContains(sql`name_key`, search)}`,
      order,
    );
  return {
    max: sql`select coalesce(sum(tally), 0)::bigint from tallies where subject = 'publishers' and scope = 0`,
    page: ({ after, offset, limit }) => sql`
      select *, ${key} as key
      from publishers
      where true ${startAfter(after)}
      order by ${by}
      limit ${limit}::bigint
      offset ${offset}::bigint
    `,
  };
}

export const find = (slug: string | null): PublicQuery<Answer<"Publisher">> => ({
  select: recordOf(sql`
    select
      id, name, slug, coalesce(${imageUrl(sql`image`)}, '') as image, coalesce(website, '') as website,
      coalesce(domain, '') as domain, coalesce(country, '') as country,
      ${descriptions} as descriptions, ${aliases} as aliases, ${relations} as relations
    from publishers
    where slug = ${slug}::text
  `),
});

export const random = (client: number): PublicQuery<Answer<"Slug">> => ({
  select: randomSlug(sql`publishers`, client, empty),
});

export const publications = (publisher: number | null, input: WorksInput): ListQuery<Answer<"Publication">> =>
  relatedWorks(
    sql`publishers as maker join series_publishers as link on link.publisher_id = maker.id`,
    publisher,
    input,
    sql`${seriesAliases} as aliases,`,
  );

const descriptions = records(sql`
  select id, description, language, source from publisher_descriptions where publisher_id = publishers.id order by id
`);

const aliases = records(sql`
  select id, title, language from publisher_aliases where publisher_id = publishers.id order by id
`);

const relations = records(sql`
  select
    relation.id, related.id as relation_id, relation.type, related.name,
    coalesce(${imageUrl(sql`related.image`)}, '') as image, related.slug
  from publisher_relations as relation join publishers as related on related.id = relation.relation_id
  where relation.publisher_id = publishers.id
  order by relation.id
`);
