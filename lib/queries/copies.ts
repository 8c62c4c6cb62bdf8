import sql, { type Sql } from "sql-template-tag";

/** The ledger's last row that is older than so many hours. No row: there is none. */
export const lastChangeBefore = (hours: number): Sql => sql`
  select id
  from changes
  where at < now() - ${hours}::bigint * interval '1 hour'
  order by id desc
  limit 1
`;

/**
 * How many rows the largest tables of the catalogue have that visitors see, the last id of the ledger up to this one, and
 * a digest of the hundred rows that end there.
 */
export const facts = (id: number): Sql => sql`
  select
    (select count(*) from contributors where public) as contributors,
    (select count(*) from publishers) as publishers,
    (select count(*) from series) as series,
    coalesce(max(id), 0) as last,
    md5(string_agg(line, ' ' order by id)) as digest
  from
    (
      select
        id,
        concat_ws(
          ' ', id, extract(epoch from at), role, key, request_id, endpoint, caller_id, username, record, result
        ) as line
      from changes
      where id <= ${id}::bigint
      order by id desc
      limit 100
    ) as lines
`;
