import sql, { type Sql } from "sql-template-tag";

/** The number of records in these scopes, which triggers count. */
export const tally = (subject: string, scopes: Sql): Sql => sql`
  select coalesce(sum(tally), 0)::bigint from tallies where subject = ${subject}::text and scope in (${scopes})
`;
