import sql, { raw, type Sql } from "sql-template-tag";

/** So many neighbours share one draw; with no more records than these, each is equally likely. */
const neighbours = raw("16");

/**
 * The slug of a random record of a client, read from an index in constant time: the records that follow a random
 * point, beginning again at the start when the end is reached, and one of them by lot. A draw among neighbours evens
 * out the gaps between their places.
 */
export const randomSlug = (table: Sql, client: number, filter: Sql): Sql => sql`
  select cast(to_json(slug) as text) as text
  from (
    select slug
    from
      (select random() as place offset 0) as point
      cross join (values (0::bigint), (${client}::bigint)) as scopes (scope)
      cross join lateral (
        (
          select slug, random_key, 0 as lap
          from ${table} as ahead
          where ahead.scope = scopes.scope and random_key >= place ${filter}
          order by random_key
          limit ${neighbours}
        )
        union all
        (
          select slug, random_key, 1
          from ${table} as behind
          where behind.scope = scopes.scope and random_key < place ${filter}
          order by random_key
          limit ${neighbours}
        )
      ) as nearby
    order by lap, random_key
    limit ${neighbours}
  ) as drawn
  order by random()
  limit 1
`;
