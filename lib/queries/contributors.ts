import sql, { type Sql } from "sql-template-tag";
import type { Answer } from "../contract/declare.ts";
import type { ListQuery, Slice } from "../database/list.ts";
import type { PublicQuery } from "../database/query.ts";
import {
  type CatalogueOrder,
  catalogueOrder,
  findsFew,
  fromFew,
  named,
  type Picks,
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
 * Picks from the contributors of a client, shared and own ones. Each kind is read in order from an index, and from
 * nothing else, and the two are merged; asked for at once, they would all be read and sorted.
 * @param tally how many there are without a search
 */
export function pickScoped(
  client: number,
  tally: "contributors" | "public contributors",
  filter: Sql,
  search: string | undefined,
  order: TableOrder,
): Picks {
  const { key, by, behind, picked } = order;
  const matching = sql`${filter} ${named(sql`name_key`, search)}`;
  const everywhere = sql`from contributors where scope in (0, ${client}::bigint) ${matching}`;
  if (findsFew(search)) return fromFew(sql`select id, ${key} as key ${everywhere}`, order);
  const within = (scope: Sql, { after, offset, limit, limitMax }: Slice) => sql`
    (
      select id, ${key} as key
      from contributors
      where scope = ${scope} ${matching} ${behind(after)}
      order by ${by}
      limit ${offset === 0 ? limitMax : sql`${limit + offset}::bigint`}
    )
  `;
  return {
    max: search === undefined ? tallied(client, tally) : sql`select count(*) ${everywhere}`,
    page: (slice) => sql`
      select *
      from (${within(sql`0`, slice)} union all ${within(sql`${client}::bigint`, slice)}) as both_kinds
      order by ${picked.by}
      limit ${slice.limit}::bigint
      offset ${slice.offset}::bigint
    `,
  };
}

const tallied = (client: number, subject: string): Sql => sql`
  select coalesce(sum(tally), 0)::bigint
  from tallies
  where subject = ${subject}::text and scope in (0, ${client}::bigint)
`;

export function list({ client, search, order }: ListInput): ListQuery<Answer<"ContributorListItem">> {
  const sorted = catalogueOrder(order);
  const { page, ...picks } = pickScoped(client, "public contributors", sql`and public`, search, sorted);
  return {
    ...picks,
    fields: sql`
      id, first_name, coalesce(last_name, '') as last_name, ${imageUrl(sql`image`)} as image, gender,
      cardinality(works.ids) as series_count,
      (
        select row_to_json(series)
        from (
          select name, slug
          from series
          where id = works.ids[1 + floor(works.lot * cardinality(works.ids))::int]
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
          select random() as lot, array(
            select series.id
            from series_contributors as link join series on series.id = link.series_id
            where link.contributor_id = page.id and series.scope in (0, ${client}::bigint)
          ) as ids
          offset 0
        ) as works
      order by ${sorted.picked.by}
    `,
  };
}

/** A published contributor; relations to unpublished ones stay hidden. No slug: one that can be none. */
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

/** Works of a published contributor; none for one that is not. */
export const works = (contributor: number | null, input: WorksInput): ListQuery<Answer<"Work">> =>
  relatedWorks(
    sql`
      series_contributors as link
      join contributors on contributors.id = link.contributor_id and contributors.public
    `,
    sql`link.contributor_id = ${contributor}::bigint`,
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
