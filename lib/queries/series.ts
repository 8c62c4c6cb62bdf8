import sql, { empty, type Sql } from "sql-template-tag";
import type { Filters, QueryOf } from "../contract/declare.ts";
import type { getSeries, listSeries } from "../contract/series.ts";
import type { ListQuery } from "../data-api/list.ts";
import { added, changed, imageUrl, included, record, records } from "./fragments/json.ts";
import { languageCode } from "./fragments/languages.ts";
import { catalogueOrders, countByLetter, countOf, isAmong, isChangedSince, pageOf } from "./fragments/lists.ts";
import { randomSlug } from "./fragments/random.ts";
import { andInScope, foundByIndex, foundInOrder, hasLetter } from "./fragments/scopes.ts";
import { searchPlan } from "./fragments/search.ts";
import { seriesAliases, seriesKeys, seriesTags, volumeFields, workFields } from "./works.ts";

type Input = Filters<typeof listSeries>;

/** The series in a client's scope. */
export function list(input: Input): ListQuery {
  const { client, search, order, letter, type, tag, ids, "changed-since": since, user_lang, include } = input;
  const { column, by } = catalogueOrders[order];
  const { lookup, condition } = searchPlan(search, seriesKeys);
  const isSelective = lookup === "index" || tag !== undefined || ids !== undefined || since !== undefined;
  const isIndexed = isSelective || (letter !== undefined && !order.startsWith("sort-name"));
  const plan = isIndexed ? foundByIndex(client) : foundInOrder(client);
  return {
    found: sql`
      select id, scope, ${column} as key
      from series
      where
        ${plan.filter}
        ${letter === undefined ? empty : hasLetter(letter)}
        ${type === undefined ? empty : sql`type = ${type}::text and`}
        ${tag === undefined ? empty : hasTag(tag)}
        ${ids === undefined ? empty : sql`${isAmong(ids)} and`}
        ${condition}
        ${isChangedSince(since)}
    `,
    sortInMemory: isIndexed,
    countsFirst: lookup === "scan",
    max: (isSelective ? undefined : countOfAll(input)) ?? plan.count,
    optional: "volume",
    page: (batch) => sql`
      select ${workFields({ user_lang, include }, empty, included({ added, changed }, include))}
      from
        ${pageOf(plan.candidates(catalogueOrders[order], batch), catalogueOrders[order], batch)} as page
        join series using (id)
      order by ${by}
    `,
  };
}

/** What triggers count: all series, those of a letter, and those of a type. Others are counted when they are found. */
function countOfAll({ client, search, letter, type }: Pick<Input, "client" | "search" | "letter" | "type">) {
  const scopes = sql`0, ${client}::bigint`;
  if (search !== undefined) return undefined;
  if (type === undefined) return countOf("series", scopes, letter);
  return letter === undefined ? countOf(`series of type ${type}`, scopes) : undefined;
}

const hasTag = (tag: string): Sql => sql`
  id in (
    select series_id
    from series_tags
    where tag_id = (select id from tags where identity_key(name) = identity_key(${tag}::text))
  ) and
`;

/**
 * A series in every language, with its published contributors. With a client the series, its contributors and its
 * publishers are in the client's scope. A null slug finds none.
 */
export function find(slug: string | null, { client, include }: QueryOf<typeof getSeries>): Sql {
  const inScope = (table: Sql) => andInScope(table, client);
  return sql`
    select
      ${record(sql`
        id, name, slug, type, origin ${included({ added, changed }, include)}, ${seriesAliases(include)} as aliases, ${descriptions(include)} as descriptions,
        ${seriesTags} as tags, ${volumes} as volumes,
        ${contributors(inScope(sql`contributors`))} as contributors,
        ${publishers(inScope(sql`publishers`))} as publishers
      `)} as body,
      concat_ws(',', 'series-' || id, ${relatedTags}) as tags, null::text as current_slug
    from series
    where slug = ${slug}::text ${inScope(sql`series`)}
  `;
}

const descriptions = (include: Input["include"]): Sql =>
  records(sql`
    select id, description, language ${languageCode(include)}
    from series_descriptions
    where series_id = series.id
    order by id
  `);

const volumes = records(sql`
  select id, number, ${volumeFields} from volumes where series_id = series.id order by number
`);

const contributors = (condition: Sql): Sql =>
  records(sql`
    select
      contributors.id, first_name, coalesce(last_name, '') as last_name, contributors.slug,
      ${imageUrl(sql`image`)} as image, coalesce(role, '') as role
    from series_contributors join contributors on contributors.id = contributor_id
    where series_id = series.id and public ${condition}
    order by contributors.sort_key, contributors.id
  `);

const publishers = (condition: Sql): Sql =>
  records(sql`
    select
      publishers.id, publishers.name, publishers.slug, coalesce(${imageUrl(sql`image`)}, '') as image
    from series_publishers join publishers on publishers.id = publisher_id
    where series_id = series.id ${condition}
    order by publishers.name_key, publishers.id
  `);

/** The tag of the list stands for contributors that are not public: it becomes stale when they are published. */
const relatedTags = sql`
  (
    select string_agg(case when public then 'contributor-' || contributor_id else 'contributors' end, ',')
    from series_contributors join contributors on contributors.id = contributor_id
    where series_id = series.id
  ),
  (select string_agg('publisher-' || publisher_id, ',') from series_publishers where series_id = series.id),
  (select string_agg('tag-' || tag_id, ',') from series_tags where series_id = series.id)
`;

export const random = (client: number): Sql => randomSlug(sql`series`, client, sql`true`);

export const letters = (client: number): Sql => countByLetter("series", sql`0, ${client}::bigint`, "series");
