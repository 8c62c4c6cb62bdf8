import sql, { raw, type Sql } from "sql-template-tag";

/** CloudFront drops the tags of a response beyond these ("Quotas on cache tags"). */
const tagsMax = raw("50");

/**
 * The cache tags of a record: its own, and those of the related ones that it shows. If these are too many, the tag of
 * the list stands for them: it becomes stale whenever one of them does. It does so, too, when a contributor is
 * published, so it is the tag of a record that would show them then.
 * @param kind what tags begin with: `contributor`
 * @param related a select of what the record is related to: `id`, and whether it is `public`
 */
export const cacheTags = (kind: "contributor" | "publisher", id: Sql, related: Sql): Sql => {
  const prefix = raw(`'${kind}-'`);
  return sql`
    (
      select concat_ws(
        ',',
        ${prefix} || ${id},
        case
          when bool_and(related.public) and count(distinct related.id) < ${tagsMax}
          then string_agg(distinct ${prefix} || related.id, ',')
          when count(*) > 0 then ${raw(`'${kind}s'`)}
        end
      )
      from (${related}) as related
      where related.id <> ${id}
    )
  `;
};
