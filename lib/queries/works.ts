import sql, { empty, type Sql } from "sql-template-tag";
import type { Answer } from "../contract/declare.ts";
import type { ListQuery } from "../database/list.ts";
import { type CatalogueOrder, catalogueOrder, fromFew, named } from "./fragments/filters.ts";
import { imageUrl } from "./fragments/images.ts";
import { record, records } from "./fragments/json.ts";

export interface WorksInput {
  readonly client: number;
  readonly search: string | undefined;
  readonly order: CatalogueOrder;
  readonly user_lang: string;
}

/**
 * The series in a client's scope that a link relates, localised: alias and description in the reader's language, else
 * in English; else the series' name, and any description. The volume is the first with a cover (lib/contract/README.md, "Languages").
 * @param link what to join the series with, a table called `link` that has their ids
 * @param related which of the links
 * @param more further fields of each record, a comma after each
 */
export function relatedWorks(
  link: Sql,
  related: Sql,
  { client, search, order, user_lang: language }: WorksInput,
  more: Sql = empty,
): ListQuery<Answer<"Work"> & Answer<"Publication">> {
  const sorted = catalogueOrder(order);
  const { page, ...picks } = fromFew(
    sql`
      select series.id, series.${sorted.key} as key, series.name, series.slug, series.type, series.origin
      from ${link} join series on series.id = link.series_id
      where ${related} and series.scope in (0, ${client}::bigint) ${called(search)}
    `,
    sorted,
  );
  return {
    ...picks,
    fields: sql`
      id, name, slug, type, origin,
      coalesce(
        ${localised(sql`name`, sql`series_aliases`, sql`and ${inLanguage(language)}`, language)},
        name
      ) as alias,
      ${more}
      coalesce(${localised(sql`description`, sql`series_descriptions`, empty, language)}, '') as description,
      ${tags} as tags,
      (
        select ${record(sql`
          volumes.id, coalesce(${imageUrl(sql`cover`)}, '') as cover_path, aspect_ratio, nsfw, nsfw18
        `)}
        from volumes
        where series_id = series.id
        order by cover is null, number
        limit 1
      ) as volume
    `,
    key: sql`key`,
    rows: (slice) => sql`
      from (${page(slice)}) as series
      order by ${sorted.picked.by}
    `,
  };
}

/** Keeps series one of whose names contains the text: what a reader sees of a series may be an alias. */
const called = (search: string | undefined): Sql =>
  search === undefined
    ? empty
    : sql`
      and exists (
        select
        from (
          select series.name_key
          union all
          select name_key from series_aliases where series_id = series.id
        ) as names
        where true ${named(sql`name_key`, search)}
      )
    `;

const inLanguage = (language: string): Sql => sql`name_key(language) in (name_key(${language}::text), 'english')`;

/** The text in the reader's language, else the English one, else the oldest that the filter lets through. */
const localised = (column: Sql, table: Sql, filter: Sql, language: string): Sql => sql`
  (
    select ${column}
    from ${table}
    where series_id = series.id ${filter}
    order by name_key(language) = name_key(${language}::text) desc, name_key(language) = 'english' desc, id
    limit 1
  )
`;

const tags = records(sql`
  select tags.id, tags.name
  from series_tags join tags on tags.id = series_tags.tag_id
  where series_tags.series_id = series.id
  order by name_key(tags.name), tags.id
`);

/** All aliases of the series at hand. */
export const seriesAliases = records(
  sql`select id, name, language from series_aliases where series_id = series.id order by id`,
);
