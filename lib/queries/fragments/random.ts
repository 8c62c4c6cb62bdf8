import sql, { raw, type Sql } from "sql-template-tag";

/** The number of candidates. If there are no more records than these, each is equally likely. */
const candidates = raw("16");

/**
 * The slug of a random record of a client, read from an index in constant time. The candidates are the records that
 * follow a random key; after the largest key come the smallest ones. One of them is chosen at random, since a single
 * one would be more likely the larger the gap before its key is.
 */
export const randomSlug = (table: Sql, client: number, filter: Sql): Sql => sql`
  select to_json(slug) as body, null::text as tags, null::text as current_slug
  from (
    select slug
    from
      (select random() as start offset 0) as point
      cross join lateral (values (0, start, 1), (1, 0, start)) as laps (lap, first, last)
      cross join (values (0::bigint), (${client}::bigint)) as scopes (scope)
      cross join lateral (
        select slug, random_key
        from ${table} as nearby
        where nearby.scope = scopes.scope and random_key >= first and random_key < last and ${filter}
        order by random_key
        limit ${candidates}
      ) as nearby
    order by lap, random_key
    limit ${candidates}
  ) as candidates
  order by random()
  limit 1
`;
