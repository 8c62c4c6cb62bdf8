import type * as z from "zod/mini";
import { plural } from "./plural.ts";

const types: Readonly<Record<string, string>> = {
  array: "a list",
  boolean: "true or false",
  int: "an integer",
  number: "a number",
  object: "an object",
  record: "an object",
  string: "text",
};

const formats: Readonly<Record<string, string>> = { email: "an e-mail address", url: "a URL" };

/** What is counted of a value. */
const units: Readonly<Record<string, string>> = { array: "element", string: "character" };

/** What a field must be, where its schema does not say it itself; given to a parse as its `error`. */
export function issueInWords(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined ? "is missing" : `must be ${types[issue.expected] ?? issue.expected}`;
    case "invalid_value":
      return `must be ${issue.values.map((value) => JSON.stringify(value)).join(" or ")}`;
    case "invalid_format":
      return `must be ${formats[issue.format] ?? "in another form"}`;
    case "too_small":
      return limitInWords(issue.origin, issue.inclusive ? "at least" : "more than", issue.minimum);
    case "too_big":
      return limitInWords(issue.origin, issue.inclusive ? "at most" : "less than", issue.maximum);
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}`;
    default:
      return "is invalid";
  }
}

function limitInWords(origin: string, relation: string, limit: number | bigint): string {
  const unit = units[origin];
  return unit === undefined ? `must be ${relation} ${limit}` : `must have ${relation} ${plural(limit, unit)}`;
}

/**
 * The fields of an invalid value, each with what it must be.
 * @param whole what the value is called where it is invalid as a whole
 */
export const fieldsInWords = (issues: readonly z.core.$ZodIssue[], whole: string): readonly string[] =>
  issues.map((issue) =>
    issue.code === "unrecognized_keys"
      ? `${issue.keys.map((key) => [...issue.path, key].join(".")).join(", ")}: unknown`
      : `${issue.path.join(".") || whole}: ${issue.message}`,
  );
