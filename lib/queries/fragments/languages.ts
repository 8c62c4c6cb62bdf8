import sql, { empty, type Sql } from "sql-template-tag";

/** What a request may include beside other fields. */
type Include = readonly string[] | undefined;

/** The language of a text, a comma before it, if the request includes codes; `withLanguageCodes` makes it a code. */
export const languageCode = (include: Include, language = sql`language`, field = sql`language_code`): Sql =>
  include?.includes("language_code") ? sql`, ${language} as ${field}` : empty;
