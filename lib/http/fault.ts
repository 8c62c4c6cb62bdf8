import type * as z from "zod/mini";
import type { Fault } from "../contract/faults.ts";

type Issue = z.core.$ZodIssue;
type Cause = Pick<Fault, "reason" | "details">;

/** What zod finds wrong with a parameter, in the words of the header `Invalid-Parameters`. */
export function faultOf(issue: Issue, values: object): Fault {
  const [found, path] = deepestOf(issue, issue.path);
  const [name, ...within] = path;
  const { reason, details } = causeOf(found, valueAt(values, path));
  const at = within.length > 0 ? { at: `/${within.join("/")}` } : {};
  return { name: String(name), reason, details: { ...details, ...at } };
}

type Found = readonly [issue: Issue, path: readonly PropertyKey[]];

/** Of the forms that a value may have, the one of its type. */
function deepestOf(issue: Issue, path: readonly PropertyKey[]): Found {
  if (issue.code !== "invalid_union") return [issue, path];
  const inner = issue.errors.flat().map((each) => deepestOf(each, [...path, ...each.path]));
  const ofType = inner.find(([{ code }, at]) => code !== "invalid_type" || at.length > path.length);
  return ofType ?? inner[0] ?? [issue, path];
}

const valueAt = (values: object, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>((value, key) => Object(value)[key], values);

function causeOf(issue: Issue, value: unknown): Cause {
  switch (issue.code) {
    case "invalid_type":
      return typeCause(issue.expected, value);
    case "too_small":
      if (issue.origin === "string") return { reason: "missing" };
      return { reason: "range", details: limit("min", Number(issue.minimum) + (issue.inclusive ? 0 : 1)) };
    case "too_big":
      return { reason: isNumber(issue.origin) ? "range" : "long", details: limit("max", Number(issue.maximum)) };
    case "invalid_value":
      return { reason: "unknown", details: { allowed: issue.values.join(" ") } };
    case "invalid_format":
      return { reason: "format" };
    case "custom":
      return customCause(issue);
    default:
      return { reason: "invalid" };
  }
}

function customCause({ params }: z.core.$ZodIssueCustom): Cause {
  const character: unknown = params?.character;
  return typeof character === "string"
    ? { reason: "invisible-character", details: { character } }
    : { reason: "invalid" };
}

function typeCause(expected: string, value: unknown): Cause {
  if (value === undefined || value === null) return { reason: "missing" };
  return { reason: "type", details: { expected: expected === "int" ? "integer" : expected } };
}

const isNumber = (origin: string) => origin === "number" || origin === "int";

/** An integer of a structured field has at most fifteen digits. */
const limit = (name: "min" | "max", value: number): Record<string, number> => (value < 1e15 ? { [name]: value } : {});
