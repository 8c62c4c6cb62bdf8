import sql, { empty, type Sql } from "sql-template-tag";
import type { listWorks } from "../contract/contributors.ts";
import type { Filters } from "../contract/declare.ts";
import { languagesFor } from "../contract/languages.ts";
import { pageLimitMax } from "../contract/parameters.ts";
import { foundOf, type ListQuery, selectWithin } from "../data-api/list.ts";
import { imageUrl, included, record, records } from "./fragments/json.ts";
import { languageCode } from "./fragments/languages.ts";
import { catalogueOrders, pageOfFound } from "./fragments/lists.ts";
import { andInScope } from "./fragments/scopes.ts";
import { searchPlan, splitKeysOf } from "./fragments/search.ts";

/** Without a client, series of all clients. */
export type WorksInput = Omit<Filters<typeof listWorks>, "client" | "include"> & {
  readonly client?: number | undefined;
  readonly include?: readonly string[] | undefined;
};

export const seriesKeys = splitKeysOf(sql`series`, sql`long_series_search_keys(series.id)`);

/**
 * The series in a client's scope that belong to a contributor or publisher; none if that one is out of the scope. Alias
 * and description are in the requested language, else in a wider one, else in English; else they are the series' name, and
 * any description.
 * The volume is the first with a cover (lib/contract/README.md, "Languages").
 * @param makers a table `maker` of contributors or publishers, joined to a table `link` with the ids of their series
 * @param moreFields of each record, a comma after each
 */
export function relatedWorks(
  makers: Sql,
  id: Sql,
  { client, search, order, user_lang, include }: WorksInput,
  moreFields: Sql = empty,
): ListQuery {
  const { column, by } = catalogueOrders[order];
  return {
    found: sql`
      select series.id, series.${column} as key, series.name, series.slug, series.type, series.origin
      from ${makers} join series on series.id = link.series_id
      where
        maker.id = ${id}
        ${andInScope(sql`maker`, client)}
        ${andInScope(sql`series`, client)}
        and ${searchPlan(search, seriesKeys).condition}
    `,
    sortInMemory: true,
    max: sql`select count(*) from found`,
    optional: "volume",
    page: (batch) => sql`
      select ${workFields({ user_lang, include }, moreFields)}
      from ${pageOfFound(catalogueOrders[order], batch)} as series
      order by ${by}
    `,
  };
}

/**
 * What a detail shows of its works on request, and their cache tag; a comma before each. And the client for whom it is
 * then: without its works, a detail does not depend on a client (interface.md, "GET /contributor/slug/:slug").
 */
export function worksIn(include: readonly string[] | undefined, client: number | undefined, list: () => ListQuery) {
  if (!include?.includes("works") && !include?.includes("series_count")) return { fields: empty, tag: empty };
  const works = list();
  const fields = {
    works: sql`(${selectWithin(works, pageLimitMax)}) as works`,
    series_count: sql`(with ${foundOf(works)} select count(*) from found) as series_count`,
  };
  return { fields: included(fields, include), tag: sql`, 'series'`, client };
}

/**
 * What the lists show of a series, from a table `series`. The last field is null if there is no volume.
 * @param moreFields of each record, a comma after each
 * @param includedFields the same, a comma before each
 */
export function workFields(
  { user_lang, include }: Pick<WorksInput, "user_lang" | "include">,
  moreFields = empty,
  includedFields = empty,
): Sql {
  const rank = rankOf(languagesFor(user_lang));
  const aliasIn = (field: Sql) => localised(field, sql`series_aliases`, sql`${rank} is not null`, rank);
  const descriptionIn = (field: Sql) => localised(field, sql`series_descriptions`, sql`true`, rank);
  return sql`
    id, name, slug, type, origin,
    coalesce(${aliasIn(sql`name`)}, name) as alias,
    ${moreFields}
    coalesce(${descriptionIn(sql`description`)}, '') as description,
    ${seriesTags} as tags ${includedFields}
    ${languageCode(include, sql`coalesce(${aliasIn(sql`language`)}, '')`)}
    ${languageCode(include, sql`coalesce(${descriptionIn(sql`language`)}, '')`, sql`description_language_code`)},
    (
      select ${record(sql`volumes.id, ${volumeFields}`)}
      from volumes
      where series_id = series.id
      order by cover is null, number
      limit 1
    ) as volume
  `;
}

/** What is shown of a volume, beside its id and number. */
export const volumeFields = sql`coalesce(${imageUrl(sql`cover`)}, '') as cover_path, aspect_ratio, nsfw, nsfw18`;

/** The position of a row's language among these, which are one parameter; null if it is none of them. */
const rankOf = (languages: readonly string[]): Sql =>
  sql`array_position(string_to_array(name_key(${languages.join("|")}::text), '|'), name_key(language))`;

/** A column of the text in the first of the languages, else of the oldest one; the filter applies to all. */
const localised = (column: Sql, table: Sql, filter: Sql, rank: Sql): Sql => sql`
  (
    select ${column}
    from ${table}
    where series_id = series.id and ${filter}
    order by ${rank}, id
    limit 1
  )
`;

/**
 * All tags of the series. Each is the first tag from its id on: so PostgreSQL looks it up. By a join it reads all tags for
 * each series, unless there are some hundreds of them.
 */
export const seriesTags = records(sql`
  select tag.id, tag.name
  from series_tags cross join lateral (select id, name from tags where id >= tag_id order by id limit 1) as tag
  where series_tags.series_id = series.id
  order by name_key(tag.name), tag.id
`);

/** All aliases of the series. */
export const seriesAliases = (include: WorksInput["include"]): Sql =>
  records(sql`
    select id, name, language ${languageCode(include)}
    from series_aliases
    where series_id = series.id
    order by id
  `);
