import sql, { type Sql } from "sql-template-tag";
import type { Answer } from "../contract/declare.ts";
import type { ListQuery, Slice } from "../data-api/list.ts";
import type { PublicQuery } from "../data-api/query.ts";
import {
  type CatalogueOrder,
  catalogueOrder,
  isSelective,
  nameContains,
  type Pages,
  pagesOfFew,
  type TableOrder,
} from "./fragments/filters.ts";
import { imageUrl } from "./fragments/images.ts";
import { recordOf, records } from "./fragments/json.ts";
import { randomSlug } from "./fragments/random.ts";
import { relatedWorks, type WorksInput } from "./works.ts";

interface ListInput {
  readonly client: number;
  readonly search: string | undefined;
  readonly order: CatalogueOrder;
}

/**
 * Pages of a client's contributors, shared and own ones. Each kind is read in order by an index-only scan, and the two
 * are merged; by one select PostgreSQL would read and sort all of them.
 * @param counter the subject of the counter (table `tallies`) to read when there is no search
 */
export function scopedPages(
  client: number,
  counter: "contributors" | "public contributors",
  filter: Sql,
  search: string | undefined,
  order: TableOrder,
): Pages {
  const { key, by, startAfter, ofPage } = order;
  const matching = sql`${filter} ${nameContains(sql`name_key`, search)}`;
  const all = sql`from contributors where scope in (0, ${client}::bigint) ${matching}`;
  if (isSelective(search)) return pagesOfFew(sql`select id, ${key} as key ${all}`, order);
  const inScope = (scope: Sql, { after, offset, limit, limitMax }: Slice) => sql`
    (
      select id, ${key} as key
      from contributors
      where scope = ${scope} ${matching} ${startAfter(after)}
      order by ${by}
      limit ${offset === 0 ? limitMax : sql`${limit + offset}::bigint`}
    )
  `;
  return {
    max: search === undefined ? counted(client, counter) : sql`select count(*) ${all}`,
    page: (slice) => sql`
      select *
      from (${inScope(sql`0`, slice)} union all ${inScope(sql`${client}::bigint`, slice)}) as both_kinds
      order by ${ofPage.by}
      limit ${slice.limit}::bigint
      offset ${slice.offset}::bigint
    `,
  };
}

/** The value of a counter for a client. */
const counted = (client: number, subject: string): Sql => sql`
  select coalesce(sum(tally), 0)::bigint
  from tallies
  where subject = ${subject}::text and scope in (0, ${client}::bigint)
`;

/** Published contributors. */
export function list({ client, search, order }: ListInput): ListQuery<Answer<"ContributorListItem">> {
  const sorted = catalogueOrder(order);
  const { page, ...matches } = scopedPages(client, "public contributors", sql`and public`, search, sorted);
  return {
    ...matches,
    fields: sql`
      id, first_name, coalesce(last_name, '') as last_name, ${imageUrl(sql`image`)} as image, gender,
      cardinality(works.ids) as series_count,
      (
        select row_to_json(series)
        from (
          select name, slug
          from series
          where id = works.ids[1 + floor(works.random * cardinality(works.ids))::int]
        ) as series
      ) as random_series
    `,
    optional: "random_series",
    key: sql`key`,
    rows: (slice) => sql`
      from
        (${page(slice)}) as page
        join contributors using (id)
        cross join lateral (
          select random() as random, array(
            select series.id
            from series_contributors as link join series on series.id = link.series_id
            where link.contributor_id = page.id and series.scope in (0, ${client}::bigint)
          ) as ids
          offset 0
        ) as works
      order by ${sorted.ofPage.by}
    `,
  };
}

/** A published contributor, without relations to unpublished ones. A null slug finds none. */
export const find = (slug: string | null): PublicQuery<Answer<"Contributor">> => ({
  select: recordOf(sql`
    select
      id, first_name, coalesce(last_name, '') as last_name, slug, ${imageUrl(sql`image`)} as image, gender,
      ${linksOf(sql`contributors.id`)} as links,
      ${descriptionsOf(sql`contributors.id`)} as descriptions,
      ${aliasesOf(sql`contributors.id`)} as aliases,
      ${relationsOf(sql`contributors.id`, sql`and related.public`)} as relations
    from contributors
    where slug = ${slug}::text and public
  `),
});

export const random = (client: number): PublicQuery<Answer<"Slug">> => ({
  select: randomSlug(sql`contributors`, client, sql`and public`),
});

/** Works of a contributor; none if it is unpublished. */
export const works = (contributor: number | null, input: WorksInput): ListQuery<Answer<"Work">> =>
  relatedWorks(
    sql`contributors as maker join series_contributors as link on link.contributor_id = maker.id and maker.public`,
    contributor,
    input,
  );

export const linksOf = (contributor: Sql): Sql =>
  records(sql`select url, domain from contributor_links where contributor_id = ${contributor} order by position`);

export const descriptionsOf = (contributor: Sql): Sql =>
  records(sql`
    select id, description, language, source
    from contributor_descriptions
    where contributor_id = ${contributor}
    order by id
  `);

export const aliasesOf = (contributor: Sql): Sql =>
  records(sql`select id, name from contributor_aliases where contributor_id = ${contributor} order by id`);

export const relationsOf = (contributor: Sql, filter: Sql): Sql =>
  records(sql`
    select
      relation.id, related.id as relation_id, relation.relation_type,
      concat_ws(' ', related.first_name, related.last_name) as name,
      related.first_name, coalesce(related.last_name, '') as last_name, related.slug
    from contributor_relations as relation join contributors as related on related.id = relation.relation_id
    where relation.contributor_id = ${contributor} ${filter}
    order by relation.id
  `);
