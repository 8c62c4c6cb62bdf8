import sql, { type Sql } from "sql-template-tag";

/** The number of records in these scopes, which triggers count. */
export const countOf = (subject: string, scopes: Sql): Sql => sql`
  select coalesce(sum(total), 0)::bigint from counters where subject = ${subject}::text and scope in (${scopes})
`;
