import { en } from "zod/locales";
import type * as z from "zod/mini";

/** What is wrong with a value, in English; given to a parse as its `error`, since `zod/mini` has no words of its own. */
export const { localeError: issueInWords } = en();

/** What is wrong with the fields of an invalid value, or with the whole of it. */
export const fieldsInWords = (issues: readonly z.core.$ZodIssue[]): readonly string[] =>
  issues.map(({ path, message }) => (path.length > 0 ? `${path.join(".")}: ${message}` : message));
