import sql, { type Sql } from "sql-template-tag";

/** The absolute URL of the object with this key; null for no key (lib/contract/README.md, "Null and types"). */
export const imageUrl = (key: Sql): Sql => sql`${process.env.IMAGE_BASE_URL ?? ""}::text || '/' || ${key}`;

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
