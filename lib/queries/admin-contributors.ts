import sql, { empty } from "sql-template-tag";
import type { Answer } from "../contract/declare.ts";
import type { GuardedListQuery } from "../data-api/list.ts";
import type { GuardedQuery } from "../data-api/query.ts";
import { aliasesOf, descriptionsOf, linksOf, relationsOf, scopedPages } from "./contributors.ts";
import { catalogueOrder } from "./fragments/filters.ts";
import { imageUrl } from "./fragments/images.ts";
import { record } from "./fragments/json.ts";
import { opened, otherEditor } from "./fragments/locks.ts";

interface ListInput {
  readonly client: number;
  readonly search?: string | undefined;
  readonly order: "name-asc" | "name-desc";
}

/** Contributors, unpublished ones included. */
export function list({ client, search, order }: ListInput): GuardedListQuery<Answer<"AdminContributorListItem">> {
  const sorted = catalogueOrder(order);
  const { page, ...matches } = scopedPages(client, "contributors", empty, search, sorted);
  return {
    guarded: true,
    ...matches,
    fields: sql`
      id, first_name, coalesce(last_name, '') as last_name, slug, coalesce(${imageUrl(sql`image`)}, '') as image,
      ${otherEditor("contributor", sql`contributors.id`)} as locked_by
    `,
    optional: "locked_by",
    key: sql`key`,
    rows: (slice) => sql`
      from (${page(slice)}) as page join contributors using (id)
      order by ${sorted.ofPage.by}
    `,
  };
}

/** A contributor; it takes the edit lock. */
export const find = (id: number | null): GuardedQuery<Answer<"AdminContributor">> => ({
  guarded: true,
  warns: true,
  select: sql`
    select version, warning, cast(${record(sql`
      id, first_name, coalesce(last_name, '') as last_name, slug, coalesce(${imageUrl(sql`image`)}, '') as image,
      coalesce(gender, '') as gender,
      ${linksOf(sql`contributors.id`)} as links,
      ${aliasesOf(sql`contributors.id`)} as aliases,
      ${descriptionsOf(sql`contributors.id`)} as descriptions,
      ${relationsOf(sql`contributors.id`, empty)} as relations
    `)} as text) as text
    from contributors, ${opened("contributor", sql`contributors.id`)}
    where id = ${id}::bigint and still_exists
  `,
});
