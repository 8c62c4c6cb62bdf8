import sql, { raw, type Sql } from "sql-template-tag";
import { andInScope } from "./scopes.ts";

/**
 * The `relations` that a record shows, as JSON, and the cache tags of the related records (`related_tags`), by one read.
 * A contributor that is not public is not shown. The tag of the list stands for it: it becomes stale when the
 * contributor is published. With a client, only records in its scope are shown.
 * @param kind what tags begin with: `contributor`
 * @param from joins `relation` and `related`
 */
export const relationsWithTags = (
  kind: "contributor" | "publisher",
  from: Sql,
  fields: Sql,
  isPublic: Sql,
  client: number | undefined,
): Sql => sql`
  lateral (
    select
      coalesce(
        array_agg(row_to_json(record) order by relation.id)
          filter (where ${isPublic} ${andInScope(sql`related`, client)}),
        '{}'
      ) as relations,
      string_agg(
        case when ${isPublic} then ${raw(`'${kind}-'`)} || related.id else ${raw(`'${kind}s'`)} end, ','
      ) as related_tags
    from ${from} cross join lateral (select ${fields}) as record
    where relation.${raw(kind)}_id = ${raw(kind)}s.id
  ) as relations
`;
