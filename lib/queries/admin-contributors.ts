import sql, { empty } from "sql-template-tag";
import type { Answer } from "../contract/declare.ts";
import type { GuardedListQuery } from "../database/list.ts";
import type { GuardedQuery } from "../database/query.ts";
import { aliasesOf, descriptionsOf, linksOf, relationsOf, scopedCount, scopedPage } from "./contributors.ts";
import { catalogueOrder, named } from "./filters.ts";
import { imageUrl } from "./images.ts";
import { record, recordWith } from "./json.ts";
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
    page: (page) => sql`
      select contributors.id, contributors.${sorted.key}, ${recordWith(
        sql`
          id, first_name, coalesce(last_name, '') as last_name, slug, coalesce(${imageUrl(sql`image`)}, '') as image
        `,
        sql`',"locked_by":' || ${otherEditor("contributor", sql`contributors.id`)}`,
      )}
      from ${scopedPage(client, filter, sorted, page)}
      order by ${sorted.by}
    `,
  };
}

/** Opening a contributor takes the edit lock. */
export const find = (id: number | null): GuardedQuery<Answer<"AdminContributor">> => ({
  guarded: true,
  select: sql`
    select ${record(sql`
      id, first_name, coalesce(last_name, '') as last_name, slug, coalesce(${imageUrl(sql`image`)}, '') as image,
      coalesce(gender, '') as gender,
      ${linksOf(sql`contributors.id`)} as links,
      ${aliasesOf(sql`contributors.id`)} as aliases,
      ${descriptionsOf(sql`contributors.id`)} as descriptions,
      ${relationsOf(sql`contributors.id`, empty)} as relations
    `)}, version
    from contributors
    where id = ${id}::bigint and ${opened("contributor", id)}
  `,
});
