import sql, { type Sql } from "sql-template-tag";
import type { Filters, QueryOf } from "../contract/declare.ts";
import type { getPublisher, listPublishers } from "../contract/publishers.ts";
import type { ListQuery } from "../data-api/list.ts";
import { relationsWithTags } from "./fragments/cache-tags.ts";
import { imagesOf } from "./fragments/images.ts";
import { added, changed, imageUrl, included, record, records } from "./fragments/json.ts";
import { languageCode } from "./fragments/languages.ts";
import {
  catalogueOrders,
  countByLetter,
  countOf,
  isAmong,
  isChangedSince,
  letterOf,
  pageOfFound,
} from "./fragments/lists.ts";
import { randomSlug } from "./fragments/random.ts";
import { andInScope } from "./fragments/scopes.ts";
import { keysOf, searchPlan } from "./fragments/search.ts";
import { relatedWorks, seriesAliases, type WorksInput, worksIn } from "./works.ts";

/** Publishers of all clients, or of one; by default in the order in which they were added. */
export function list({
  client,
  search,
  letter,
  ids,
  "changed-since": since,
  include,
  order = "added-asc",
}: Filters<typeof listPublishers>): ListQuery {
  const { column, by } = catalogueOrders[order];
  const { lookup, condition } = searchPlan(search, keysOf(sql`publishers`));
  const isSelective = lookup !== "none" || ids !== undefined || since !== undefined;
  return {
    found: sql`
      select *, ${column} as key
      from publishers
      where ${letter === undefined ? sql`true` : sql`letter = ${letterOf(letter)}`} and ${condition}
        ${ids === undefined ? sql`` : sql`and ${isAmong(ids)}`}
        ${client === undefined ? sql`` : sql`and scope in (0, ${client}::bigint)`}
        ${isChangedSince(since)}
    `,
    sortInMemory: isSelective || letter !== undefined,
    max: isSelective || client !== undefined ? sql`select count(*) from found` : countOf("publishers", sql`0`, letter),
    page: (batch) => sql`
      select
        id, name, ${includable["short-name"]}, slug, coalesce(country, '') as country,
        coalesce(website, '') as website, ${includable.headquarter},
        (select count(*) ${seriesOf(client)} where publisher_id = page.id) as series_count,
        ${includable.founding_date}, coalesce(${imageUrl(sql`image`)}, '') as image,
        coalesce(image_source, '') as image_source ${included({ added, changed }, include)}
      from ${pageOfFound(catalogueOrders[order], batch)} as page
      order by ${by}
    `,
  };
}

/** The series of publishers; with a client those in its scope. */
const seriesOf = (client: number | undefined): Sql =>
  client === undefined
    ? sql`from series_publishers`
    : sql`from series_publishers join series on series.id = series_id and series.scope in (0, ${client}::bigint)`;

const related = sql`publisher_relations as relation join publishers as related on related.id = relation.relation_id`;

const relationFields = sql`
  relation.id, related.id as relation_id, relation.type, related.name,
  coalesce(${imageUrl(sql`related.image`)}, '') as image, related.slug
`;

/** What details show on request, in the order of the response. */
const includable = {
  "short-name": sql`coalesce(short_name, '') as "short-name"`,
  headquarter: sql`coalesce(headquarter, '') as headquarter`,
  founding_date: sql`coalesce(founding_date, '') as founding_date`,
  added,
  changed,
};

/** A publisher. With its works for a client, it and the related ones are in the client's scope. */
export function find(
  slug: string | null,
  { include, client, user_lang = "English" }: Partial<QueryOf<typeof getPublisher>> = {},
): Sql {
  const works = worksIn(include, client, () =>
    publicationsOf(sql`publishers.id`, { order: "name-asc", client, user_lang, include }),
  );
  return sql`
    select
      ${record(sql`
        id, name, slug, coalesce(${imageUrl(sql`image`)}, '') as image
        ${included({ images: imagesOf(sql`publishers`) }, include)}, coalesce(website, '') as website,
        coalesce(domain, '') as domain, coalesce(country, '') as country
        ${included(includable, include)},
        ${descriptions(include)} as descriptions, ${aliases(include)} as aliases, relations
        ${works.fields}
      `)} as body,
      concat_ws(',', 'publisher-' || id, related_tags ${works.tag}) as tags, null::text as current_slug
    from publishers cross join ${relationsWithTags("publisher", related, relationFields, sql`true`, works.client)}
    where slug = ${slug}::text ${andInScope(sql`publishers`, works.client)}
  `;
}

export const random = (client: number): Sql => randomSlug(sql`publishers`, client, sql`true`);

export const letters = (): Sql => countByLetter("publishers", sql`0`, "publishers");

export const publications = (publisher: number | null, input: WorksInput): ListQuery =>
  publicationsOf(sql`${publisher}::bigint`, input);

const publicationsOf = (publisher: Sql, input: WorksInput) =>
  relatedWorks(
    sql`publishers as maker join series_publishers as link on link.publisher_id = maker.id`,
    publisher,
    input,
    sql`${seriesAliases(input.include)} as aliases,`,
  );

type Include = QueryOf<typeof getPublisher>["include"];

const descriptions = (include: Include): Sql =>
  records(sql`
    select id, description, language, source ${languageCode(include)}
    from publisher_descriptions
    where publisher_id = publishers.id
    order by id
  `);

const aliases = (include: Include): Sql =>
  records(sql`
    select id, title, language ${languageCode(include)}
    from publisher_aliases
    where publisher_id = publishers.id
    order by id
  `);
