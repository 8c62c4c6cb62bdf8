import sql, { type Sql } from "sql-template-tag";

/** Listed images that are due for removal, ordered by key, after a key. */
export const due = (after: string, limit: number): Sql => sql`
  select key
  from images_to_remove
  where remove_after <= now() and key > ${after}::text
  order by key
  limit ${limit}::bigint
`;

/** The number of images that are listed for removal. */
export const count = (): Sql => sql`select count(*) from images_to_remove`;
