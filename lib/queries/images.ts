import sql, { type Sql } from "sql-template-tag";

/** The number of images that are listed for removal. */
export const count = (): Sql => sql`select count(*) from images_to_remove`;
