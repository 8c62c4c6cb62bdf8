import sql, { type Sql } from "sql-template-tag";

/** The absolute URL of the object with this key; null where there is none (lib/contract/README.md, "Null and types"). */
export const imageUrl = (key: Sql): Sql => sql`${process.env.IMAGE_BASE_URL ?? ""}::text || '/' || ${key}`;

/** Images to remove whose time has come, in the order of their keys, after a key. */
export const due = (after: string, limit: number): Sql => sql`
  select key
  from images_to_remove
  where remove_after <= now() and key > ${after}::text
  order by key
  limit ${limit}::bigint
`;

/** How many images are listed as ones to remove. */
export const listed = (): Sql => sql`select count(*) from images_to_remove`;
