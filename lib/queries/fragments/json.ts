import sql, { empty, type Sql } from "sql-template-tag";

/* The database makes the JSON of responses: compact, with its fields in the interface's order. */

/** A JSON object with these columns as fields. */
export const record = (fields: Sql): Sql => sql`(select row_to_json(record) from (select ${fields}) as record)`;

/** The rows of a select as an array of JSON objects. */
export const records = (select: Sql): Sql => sql`array(select row_to_json(record) from (${select}) as record)`;

const imageBaseUrl = process.env.IMAGE_BASE_URL ?? "";

/** The absolute URL of the object with this key; null for no key (lib/contract/README.md, "Null and types"). */
export const imageUrl = (key: Sql): Sql => sql`${imageBaseUrl}::text || '/' || ${key}`;

/** ISO 8601 in UTC, with milliseconds. */
export const instant = (time: Sql): Sql => sql`to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** The fields that a request includes, a comma before each, in the order in which they are listed here. */
export const included = (fields: Readonly<Record<string, Sql>>, include: readonly string[] | undefined): Sql =>
  Object.entries(fields)
    .filter(([word]) => include?.includes(word))
    .reduce((all, [, field]) => sql`${all}, ${field}`, empty);

/** What many records show on request. */
export const added = sql`${instant(sql`added_at`)} as added`;
export const changed = sql`${instant(sql`changed_at`)} as changed`;
