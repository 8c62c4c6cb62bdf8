import sql, { empty } from "sql-template-tag";
import type { Answer } from "../contract/declare.ts";
import type { GuardedListQuery } from "../database/list.ts";
import type { GuardedQuery } from "../database/query.ts";
import { aliasesOf, descriptionsOf, linksOf, relationsOf, scopedCount, scopedPage } from "./contributors.ts";
import { catalogueOrder, named } from "./filters.ts";
import { imageUrl } from "./images.ts";
import { record } from "./json.ts";
import { opened, otherEditor } from "./locks.ts";

interface ListInput {
  readonly client: number;
  readonly search?: string | undefined;
  readonly order: "name-asc" | "name-desc";
}

/** Unpublished contributors are in the list, too. */
export function list({ client, search, order }: ListInput): GuardedListQuery<Answer<"AdminContributorListItem">> {
  const sorted = catalogueOrder(order);
  const filter = named(sql`name_key`, search);
  return {
    guarded: true,
    max: scopedCount(client, "contributors", search === undefined ? undefined : filter),
    fields: sql`
      id, first_name, coalesce(last_name, '') as last_name, slug, coalesce(${imageUrl(sql`image`)}, '') as image,
      ${otherEditor("contributor", sql`contributors.id`)} as locked_by
    `,
    optional: "locked_by",
    key: sql`key`,
    rows: (page) => sql`
      from ${scopedPage(client, filter, sorted, page)} join contributors using (id)
      order by ${sorted.again}
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
