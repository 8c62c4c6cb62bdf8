import sql, { type Sql } from "sql-template-tag";

/** The absolute URL of the object with this key; null for no key (lib/contract/README.md, "Null and types"). */
export const imageUrl = (key: Sql): Sql => sql`${process.env.IMAGE_BASE_URL ?? ""}::text || '/' || ${key}`;
