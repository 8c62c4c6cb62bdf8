/** Reasons in the header `Invalid-Parameters` (README.md, "Beyond the interface"). */
export const reasons = {
  missing: "it is absent, null or empty",
  type: "it is of another JSON type than `expected`",
  format: "the text cannot be read, such as letters for a number",
  range: "the number is less than `min`, or larger than `max`",
  long: "it has more than `max` characters or elements",
  unknown: "it is none of the values in `allowed`, or the id of a record that is not there",
  invalid: "it contains something that is not accepted",
  "invisible-character": "the name has within it the invisible `character`, such as U+200B",
  repeated: "the record would have two of a kind, such as descriptions of one language and source",
  twice: "the query has it twice",
  json: "the body is no JSON from the character at `position` on, counted from 0",
  utf8: "the body is no UTF-8",
  reused: "the key belongs to another request",
  undeclared: "the operation has no such parameter, and the request prefers `handling=strict`",
} as const;

export type Reason = keyof typeof reasons;

/** What is wrong with a parameter. */
export interface Fault {
  readonly name: string;
  readonly reason: Reason;
  /** Parameters of the item in the header, such as `max` and `allowed`. */
  readonly details?: Readonly<Record<string, string | number>>;
}

/** The name of the whole body in `Invalid-Parameters`. */
export const wholeBody = "body";
