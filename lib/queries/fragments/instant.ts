import sql, { type Sql } from "sql-template-tag";

/** ISO 8601 in UTC, with milliseconds. */
export const instant = (time: Sql): Sql => sql`to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
