import sql, { type Sql } from "sql-template-tag";

/* The database makes the JSON of responses: compact, with its fields in the interface's order. */

/** A JSON object with these columns as fields. */
export const record = (fields: Sql): Sql => sql`(select row_to_json(record) from (select ${fields}) as record)`;

/** The rows of a select as an array of JSON objects. */
export const records = (select: Sql): Sql => sql`array(select row_to_json(record) from (${select}) as record)`;

/** The absolute URL of the object with this key; null for no key (lib/contract/README.md, "Null and types"). */
export const imageUrl = (key: Sql): Sql => sql`${process.env.IMAGE_BASE_URL ?? ""}::text || '/' || ${key}`;

/** ISO 8601 in UTC, with milliseconds. */
export const instant = (time: Sql): Sql => sql`to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
