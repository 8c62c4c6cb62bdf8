import sql, { type Sql } from "sql-template-tag";

/* Answers are JSON from the database, compact, with their fields in the interface's order. */

/** The one row of a select as the text of an answer. */
export const recordOf = (select: Sql): Sql =>
  sql`select cast(row_to_json(record) as text) as text from (${select}) as record offset 0`;

/** A record with these fields, as a select names them. */
export const record = (fields: Sql): Sql => sql`(select row_to_json(record) from (select ${fields}) as record)`;

/** The rows of a select as records, for a field of another one. */
export const records = (select: Sql): Sql => sql`array(select row_to_json(record) from (${select}) as record)`;
