import sql, { empty } from "sql-template-tag";
import type { Answer } from "../contract/declare.ts";
import type { GuardedListQuery } from "../database/list.ts";
import type { GuardedQuery } from "../database/query.ts";
import { aliasesOf, descriptionsOf, linksOf, relationsOf, scopedCount, scopedPage } from "./contributors.ts";
import { catalogueOrder, named } from "./filters.ts";
import { imageUrl } from "./images.ts";
import { lockTaken, otherEditor } from "./locks.ts";

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
export const find = (id: number): GuardedQuery<Answer<"AdminContributor">> => ({
  with: sql`${lockTaken("contributor", id)},`,
  select: sql`
    select
      200,
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
      )
    from contributors
    where id = ${id}::bigint
  `,
});

interface Addition {
  readonly first_name: string;
  readonly last_name: string | null;
  /** What the slug is made of. */
  readonly slug: string;
  /** Undefined: shared by every client. */
  readonly client: number | undefined;
}

/** A taken name is for the unique index to find. */
export const add = ({ first_name, last_name, slug, client = 0 }: Addition): GuardedQuery<null> => ({
  with: sql`
    added as (
      insert into contributors (first_name, last_name, slug, client_id)
      select ${first_name}::text, ${last_name}::text, ${slug}::text, nullif(${client}::bigint, 0)
      from caller
      returning id
    ),
  `,
  select: sql`select 200, null from added`,
});

/** All that belongs to the contributor goes with it. */
export const remove = (id: number): GuardedQuery<null> => ({
  with: sql`
    removed as (
      delete from contributors
      where id = ${id}::bigint and exists (select from caller)
      returning image
    ),
    discarded as (
      insert into images_to_remove (key)
      select image
      from removed
      where image is not null
      on conflict do nothing
    ),
  `,
  select: sql`select 200, null from removed`,
});
