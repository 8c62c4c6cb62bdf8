import sql, { type Sql } from "sql-template-tag";

/** How many rows the largest tables of the catalogue have that visitors see. */
export const counts = (): Sql => sql`
  select
    (select count(*) from contributors where public) as contributors,
    (select count(*) from publishers) as publishers,
    (select count(*) from series) as series
`;

/** The ledger's last row that is older than so many hours. No row: there is none. */
export const lastChangeBefore = (hours: number): Sql => sql`
  select id
  from changes
  where at < now() - ${hours}::bigint * interval '1 hour'
  order by id desc
  limit 1
`;

/** The last id of the ledger up to this one, and a digest of the hundred rows that end there. */
export const ledgerUpTo = (id: number): Sql => sql`
  select max(id) as last, md5(string_agg(line, ' ' order by id)) as digest
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
