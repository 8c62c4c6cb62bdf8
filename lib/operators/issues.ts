import { en } from "zod/locales";
import type * as z from "zod/mini";

/** What is wrong with a value, in English; given to a parse as its `error`, since `zod/mini` has no words of its own. */
export const { localeError: issueInWords } = en();

/**
 * The fields of an invalid value, each with what is wrong with it.
 * @param whole what the value is called where it is invalid as a whole
 */
export const fieldsInWords = (issues: readonly z.core.$ZodIssue[], whole: string): readonly string[] =>
  issues.map(({ path, message }) => `${path.join(".") || whole}: ${message}`);
