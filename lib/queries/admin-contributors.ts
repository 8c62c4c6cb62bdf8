import sql, { empty } from "sql-template-tag";
import type { Answer } from "../contract/declare.ts";
import type { GuardedListQuery } from "../database/list.ts";
import type { GuardedQuery } from "../database/query.ts";
import { aliasesOf, descriptionsOf, linksOf, pickScoped, relationsOf } from "./contributors.ts";
import { catalogueOrder } from "./fragments/filters.ts";
import { imageUrl } from "./fragments/images.ts";
import { record } from "./fragments/json.ts";
import { opened, otherEditor } from "./fragments/locks.ts";

interface ListInput {
  readonly client: number;
  readonly search?: string | undefined;
  readonly order: "name-asc" | "name-desc";
}

/** Unpublished contributors are in the list, too. */
export function list({ client, search, order }: ListInput): GuardedListQuery<Answer<"AdminContributorListItem">> {
  const sorted = catalogueOrder(order);
  const { page, ...picks } = pickScoped(client, "contributors", empty, search, sorted);
  return {
    guarded: true,
    ...picks,
    fields: sql`
      id, first_name, coalesce(last_name, '') as last_name, slug, coalesce(${imageUrl(sql`image`)}, '') as image,
      ${otherEditor("contributor", sql`contributors.id`)} as locked_by
    `,
    optional: "locked_by",
    key: sql`key`,
    rows: (slice) => sql`
      from (${page(slice)}) as page join contributors using (id)
      order by ${sorted.picked.by}
    `,
  };
}

/** Opening a contributor takes the edit lock. */
export const find = (id: number | null): GuardedQuery<Answer<"AdminContributor">> => ({
  guarded: true,
  select: sql`
    select version, cast(${record(sql`
      id, first_name, coalesce(last_name, '') as last_name, slug, coalesce(${imageUrl(sql`image`)}, '') as image,
      coalesce(gender, '') as gender,
      ${linksOf(sql`contributors.id`)} as links,
      ${aliasesOf(sql`contributors.id`)} as aliases,
      ${descriptionsOf(sql`contributors.id`)} as descriptions,
      ${relationsOf(sql`contributors.id`, empty)} as relations
    `)} as text) as text
    from contributors
    where id = ${id}::bigint and ${opened("contributor", id)}
  `,
});
