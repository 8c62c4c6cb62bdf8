import { languageCode } from "../contract/languages.ts";

/**
 * Writes the tag of each language whose name the statement has in a field `language_code`. In JSON only the name of a
 * field can have a quotation mark without a backslash before it and a colon behind it.
 */
export const withLanguageCodes = (json: string): string =>
  json.replaceAll(
    /(language_code":)("(?:[^"\\]|\\.)*")/g,
    (_, field, name) => field + JSON.stringify(languageCode(JSON.parse(name))),
  );
