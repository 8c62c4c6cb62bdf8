import sql, { type Sql } from "sql-template-tag";

/* Answers are JSON from the database, compact, with their fields in the interface's order. */

/** A record with these fields, as a select names them. */
export const record = (fields: Sql): Sql => sql`(select row_to_json(record) from (select ${fields}) as record)`;

/** A record with one more field, if there is anything to say. The field's name goes with the value: `',"lock":' || …`. */
export const recordWith = (fields: Sql, optional: Sql): Sql =>
  sql`left(cast(${record(fields)} as text), -1) || coalesce(${optional}, '') || '}'`;

/** The rows of a select as records, for a field of another one. */
export const records = (select: Sql): Sql => sql`array(select row_to_json(record) from (${select}) as record)`;
