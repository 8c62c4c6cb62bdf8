import sql, { type Sql } from "sql-template-tag";

const base = process.env.IMAGE_BASE_URL ?? "";

/** The absolute URL of the object with this key; null where there is none (design, "Null and types"). */
export const imageUrl = (key: Sql): Sql => sql`${base}::text || '/' || ${key}`;
