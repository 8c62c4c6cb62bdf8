import sql, { empty, type Sql } from "sql-template-tag";
import type { getContributor, listContributors } from "../contract/contributors.ts";
import type { Filters, QueryOf } from "../contract/declare.ts";
import type { ListQuery } from "../data-api/list.ts";
import { relationsWithTags } from "./fragments/cache-tags.ts";
import { imagesOf } from "./fragments/images.ts";
import { added, imageUrl, included, instant, record, records } from "./fragments/json.ts";
import { languageCode } from "./fragments/languages.ts";
import { catalogueOrders, countByLetter, countOf, isAmong, isChangedSince, pageOf } from "./fragments/lists.ts";
import { randomSlug } from "./fragments/random.ts";
import { andInScope, foundByIndex, foundInOrder, hasLetter } from "./fragments/scopes.ts";
import { searchPlan, splitKeysOf } from "./fragments/search.ts";
import { relatedWorks, type WorksInput, worksIn } from "./works.ts";

type Input = Filters<typeof listContributors>;

interface Shown {
  /** Which counter has the number of all of them. */
  readonly subject: "contributors" | "public contributors";
  /** A condition with an `and`. */
  readonly filter?: Sql;
  /** Further conditions of a request. No counter has the number of the records that meet them. */
  readonly conditions?: Sql | undefined;
  /** Only the records that have changed since then, which are few. */
  readonly since?: string | undefined;
  readonly fields: Sql;
  /** The last field, which is omitted when it is null. */
  readonly optional: string;
  /** What `fields` need beside the contributor. */
  readonly joined?: Sql;
}

/** A list of contributors for the public or for administration. */
export function listOf(
  { client, search, order, letter, ids }: Omit<Input, "include" | "lang" | "changed-since">,
  { subject, filter = empty, conditions, since, fields, optional, joined = empty }: Shown,
): ListQuery {
  const { column, by } = catalogueOrders[order];
  const { lookup, condition } = searchPlan(search, keys);
  const isConditional = conditions !== undefined || since !== undefined;
  const isIndexed =
    since !== undefined ||
    lookup === "index" ||
    ids !== undefined ||
    (letter !== undefined && !order.startsWith("sort-name"));
  const plan = isIndexed ? foundByIndex(client) : foundInOrder(client);
  return {
    found: sql`
      select id, scope, ${column} as key
      from contributors ${since !== undefined || order.startsWith("changed") ? withTimes : empty}
      where ${filter} ${plan.filter} ${letter === undefined ? empty : hasLetter(letter)} ${condition}
        ${ids === undefined ? empty : sql`and ${isAmong(ids)}`} ${isChangedSince(since)} ${conditions ?? empty}
    `,
    sortInMemory: isIndexed,
    countsFirst: lookup === "scan" || isConditional,
    max:
      lookup === "none" && ids === undefined && !isConditional
        ? countOf(subject, sql`0, ${client}::bigint`, letter)
        : plan.count,
    optional,
    page: (batch) => sql`
      select ${fields}
      from
        ${pageOf(plan.candidates(catalogueOrders[order], batch), catalogueOrders[order], batch)} as page
        join contributors using (id)
        ${joined}
      order by ${by}
    `,
  };
}

/** Joined by the scope, too, since an index has the times of each scope in order. */
const withTimes = sql`
  join (select contributor_id as id, scope, changed_at from contributor_changes) as change using (id, scope)
`;

/** What contributors show on request, in the order of the response. */
const includable = {
  slug: sql`slug`,
  type: sql`coalesce(type, '') as type`,
  public: sql`public`,
  client: sql`client_id as client`,
  disambiguation: sql`disambiguation`,
  sort_name: sql`coalesce(sort_name, default_sort_name(first_name, last_name)) as sort_name`,
  version: sql`version`,
  added,
  changed: sql`
    (select ${instant(sql`changed_at`)} from contributor_changes where contributor_id = contributors.id) as changed
  `,
};

export type Include =
  | readonly (keyof typeof includable | "images" | "language_code" | "works" | "series_count")[]
  | undefined;

/** What is included, a comma before each. */
export const fieldsOf = (include: Include): Sql => included(includable, include);

/** Published contributors. */
export const list = ({ include, "changed-since": since, ...input }: Input): ListQuery =>
  listOf(input, {
    subject: "public contributors",
    filter: sql`public and`,
    since,
    optional: "random_series",
    fields: sql`
      id, first_name, coalesce(last_name, '') as last_name ${fieldsOf(include)}, ${imageUrl(sql`image`)} as image, gender,
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
    joined: sql`
      cross join lateral (
        select random() as random, array(
          select series.id
          from series_contributors as link join series on series.id = link.series_id
          where link.contributor_id = page.id and series.scope in (0, ${input.client}::bigint)
        ) as ids
        offset 0
      ) as works
    `,
  });

const keys = splitKeysOf(sql`contributors`, sql`long_search_keys(contributors.id)`);

const related = sql`contributor_relations as relation join contributors as related on related.id = relation.relation_id`;

const relationFields = sql`
  relation.id, related.id as relation_id, relation.relation_type,
  concat_ws(' ', related.first_name, related.last_name) as name,
  related.first_name, coalesce(related.last_name, '') as last_name, related.slug
`;

/**
 * A published contributor, without relations to unpublished ones. Its slug finds it, and so does the slug of a
 * contributor that was merged into it; a null slug finds none. If a client's works are included, the contributor and
 * the related ones must be in the client's scope.
 */
export function find(
  slug: string | null,
  { include, client, user_lang = "English" }: Partial<QueryOf<typeof getContributor>> = {},
): Sql {
  const works = worksIn(include, client, () =>
    worksOf(sql`contributors.id`, { order: "name-asc", client, user_lang, include }),
  );
  return sql`
    select
      ${record(sql`
        id, first_name, coalesce(last_name, '') as last_name, slug ${fieldsOf(include)}, ${imageUrl(sql`image`)} as image
        ${included({ images: imagesOf(sql`contributors`) }, include)}, gender,
        ${links} as links, ${descriptions(include)} as descriptions, ${aliases} as aliases, relations
        ${works.fields}
      `)} as body,
      concat_ws(',', 'contributor-' || id, related_tags ${works.tag}) as tags,
      nullif(slug, requested) as current_slug
    from
      (select ${slug}::text as requested) as request
      join contributors on id = coalesce(
        (select id from contributors where slug = requested),
        (select contributor_id from former_slugs where slug = requested)
      )
      cross join ${relationsWithTags("contributor", related, relationFields, sql`related.public`, works.client)}
    where public ${andInScope(sql`contributors`, works.client)}
  `;
}

export const random = (client: number): Sql => randomSlug(sql`contributors`, client, sql`public`);

export const letters = (client: number): Sql =>
  countByLetter("public contributors", sql`0, ${client}::bigint`, "contributors");

/** Works of a contributor; none if it is unpublished. */
export const works = (contributor: number | null, input: WorksInput): ListQuery =>
  worksOf(sql`${contributor}::bigint`, input);

const worksOf = (contributor: Sql, input: WorksInput) =>
  relatedWorks(
    sql`contributors as maker join series_contributors as link on link.contributor_id = maker.id and maker.public`,
    contributor,
    input,
  );

export const links = records(sql`
  select url, domain from contributor_links where contributor_id = contributors.id order by position
`);

export const descriptions = (include: Include): Sql =>
  records(sql`
    select id, description, language, source ${languageCode(include)}
    from contributor_descriptions
    where contributor_id = contributors.id
    order by id
  `);

export const aliases = records(sql`
  select id, name from contributor_aliases where contributor_id = contributors.id order by id
`);

export const relations = records(sql`
  select ${relationFields} from ${related} where relation.contributor_id = contributors.id order by relation.id
`);
