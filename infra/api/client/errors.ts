import type { Declaration } from "../../../lib/contract/declare.ts";
import { commonErrors, nothingChanged } from "../../../lib/contract/errors.ts";
import { reasons } from "../../../lib/contract/faults.ts";
import { type Failure, failuresOf, gatewayFailures } from "../openapi/responses.ts";
import { docstring } from "./types.ts";

const typeOf = ([status, message]: Failure) => `Failure<${status}, ${JSON.stringify(message)}>`;
const common = (status: keyof typeof commonErrors): Failure => [status, commonErrors[status]];

interface ErrorSet {
  readonly name: string;
  readonly meaning: string;
  readonly failures: readonly Failure[];
  /** The header that may be invalid. */
  readonly header?: string;
}

/** Errors that many calls have in common; each set includes the one before. */
const sets: readonly ErrorSet[] = [
  {
    name: "PublicErrors",
    meaning: "What can go wrong with any call; `Field` are the names of its parameters.",
    failures: [...gatewayFailures, common(500), common(503)],
  },
  {
    name: "AdminErrors",
    meaning: "What can go wrong with a call that needs a permission.",
    failures: [common(401), common(403)],
  },
  {
    name: "ChangeErrors",
    meaning: "What can go wrong with a change. After the 503 of `PublicErrors` it may have been made.",
    failures: [[503, nothingChanged]],
    header: "Idempotency-Key",
  },
  {
    name: "VersionedErrors",
    meaning: "What can go wrong with a change of a record that has a version.",
    failures: [common(412)],
    header: "If-Match",
  },
];

/** The type of all errors of an endpoint: the largest set that it has, and its own. */
export function errorsOf(declaration: Declaration, fields: readonly string[]): string {
  const types = failuresOf(declaration).flatMap((each) => (each[0] > 400 ? [typeOf(each)] : []));
  const missing = sets.findIndex(({ failures }) => !failures.every((each) => types.includes(typeOf(each))));
  const included = sets.slice(0, missing < 0 ? sets.length : missing);
  const known = included.flatMap(({ failures }) => failures.map(typeOf));
  const set = `${included.at(-1)?.name}${fields.length > 0 ? `<${fields.join(" | ")}>` : ""}`;
  return [set, ...types.filter((each) => !known.includes(each))].join(" | ");
}

const reasonType = (): string => {
  const meanings = Object.entries(reasons).map(([reason, meaning]) => `\n- \`${reason}\`: ${meaning}`);
  const names = Object.keys(reasons).map((each) => JSON.stringify(each));
  return `${docstring(`Why a parameter is invalid.${meanings.join("")}`)}export type Reason = ${names.join(" | ")};\n\n`;
};

/** The types of the sets, and of reasons. */
export const errorTypes = (): string =>
  reasonType() +
  sets
    .map(({ name, meaning, failures, header }, index) => {
      const base = `${sets[index - 1]?.name ?? "Invalid"}<Field${header ? ` | "${header}"` : ""}>`;
      const types = [base, ...failures.map(typeOf)].join(" | ");
      return `${docstring(meaning)}export type ${name}<Field extends string = never> = ${types};\n`;
    })
    .join("\n");
