import sql, { empty } from "sql-template-tag";
import type { Answer } from "../contract/declare.ts";
import type { GuardedListQuery } from "../database/list.ts";
import type { GuardedQuery } from "../database/query.ts";
import { aliasesOf, descriptionsOf, linksOf, relationsOf, scopedCount, scopedPage } from "./contributors.ts";
import { catalogueOrder, named } from "./filters.ts";
import { imageUrl } from "./images.ts";
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
      select
        contributors.id,
        contributors.${sorted.key},
        jsonb_build_object(
          'id', contributors.id,
          'first_name', first_name,
          'last_name', coalesce(last_name, ''),
          'slug', slug,
          'image', coalesce(${imageUrl(sql`image`)}, '')
        ) || jsonb_strip_nulls(jsonb_build_object('locked_by', ${otherEditor("contributor", sql`contributors.id`)}))
      from ${scopedPage(client, filter, sorted, page)}
      order by ${sorted.by}
    `,
  };
}

/** Opening a contributor takes the edit lock. */
export const find = (id: number | null): GuardedQuery<Answer<"AdminContributor">> => ({
  guarded: true,
  select: sql`
    select
      json_build_object(
        'id', id,
        'first_name', first_name,
        'last_name', coalesce(last_name, ''),
        'slug', slug,
        'image', coalesce(${imageUrl(sql`image`)}, ''),
        'gender', coalesce(gender, ''),
        'links', ${linksOf(sql`contributors.id`)},
        'aliases', ${aliasesOf(sql`contributors.id`)},
        'descriptions', ${descriptionsOf(sql`contributors.id`)},
        'relations', ${relationsOf(sql`contributors.id`, empty)}
      ),
      version
    from contributors
    where id = ${id}::bigint and ${opened("contributor", id)}
  `,
});
