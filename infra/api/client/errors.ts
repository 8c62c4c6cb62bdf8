import { commonErrors, invalidParameter, nothingChanged } from "../../../lib/contract/errors.ts";
import { gatewayResponses } from "../gateway-responses.ts";
import { commonResponses } from "../openapi/responses.ts";
import { declared, docstring, type Schema } from "./types.ts";

interface Response {
  readonly $ref?: string;
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

/** What an operation of the document says about errors. */
export interface Failures {
  readonly responses: Readonly<Record<string, Response>>;
}

const failure = (status: number, message: unknown) => `Failure<${status}, ${JSON.stringify(message)}>`;
const common = (status: keyof typeof commonErrors) => failure(status, commonErrors[status]);
const ofGateway = (type: keyof typeof gatewayResponses) =>
  failure(gatewayResponses[type].status, gatewayResponses[type].message);

interface ErrorSet {
  readonly meaning: string;
  readonly failures: readonly string[];
  /** The header that may be invalid. */
  readonly header?: string;
}

/** Errors that many calls have in common; each set includes the one before. */
const sets: Readonly<Record<string, ErrorSet>> = {
  PublicErrors: {
    meaning: "What any call can answer; `Field` are the names of its parameters.",
    failures: [ofGateway("THROTTLED"), common(500), common(503), ofGateway("INTEGRATION_TIMEOUT")],
  },
  AdminErrors: {
    meaning: "What a call with the cookie can answer.",
    failures: [common(401), common(403)],
  },
  ChangeErrors: {
    meaning: "What a change can answer. After the 503 of `PublicErrors` it may have been made.",
    failures: [failure(503, nothingChanged)],
    header: "Idempotency-Key",
  },
  VersionedErrors: {
    meaning: "What a change of a record with a version can answer.",
    failures: [common(412)],
    header: "If-Match",
  },
};
const names = Object.keys(sets);

/** What a call with a body can answer beside these. */
const ofBody = [ofGateway("REQUEST_TOO_LARGE"), ofGateway("UNSUPPORTED_MEDIA_TYPE")];

/** The type of all errors of an operation: the largest of the common sets, and its own. */
export function errorsOf({ responses }: Failures, fields: readonly string[]): string {
  const all = Object.entries(responses).flatMap(([status, response]) => failuresOf(Number(status), response));
  const has = (failures: readonly string[]) => failures.every((each) => all.includes(each));
  const level = names.findLastIndex((_, index) => has(upTo(index)));
  const body = has(ofBody) ? ofBody : [];
  return [
    `${names[level]}${fields.length > 0 ? `<${fields.join(" | ")}>` : ""}`,
    ...(body.length > 0 ? ["BodyErrors"] : []),
    ...all.filter((each) => ![...upTo(level), ...body].includes(each)),
  ].join(" | ");
}

const upTo = (level: number) =>
  Object.values(sets)
    .slice(0, level + 1)
    .flatMap(({ failures }) => failures);

/** The errors of a status; of 400, which has a type of its own, none. */
function failuresOf(status: number, response: Response): string[] {
  if (status <= 400) return [];
  const { content } = response.$ref ? (commonResponses()[response.$ref.split("/").at(-1) ?? ""] as Response) : response;
  const { const: message, enum: messages = [message] } = content?.["application/json"]?.schema.properties?.data ?? {};
  return messages.map((each) => failure(status, each));
}

/** The types of errors, which those of the calls refer to, and of what a change answers. */
export const errorTypes = (): string =>
  [
    declared("Done<Message extends string>", "The answer of a change.", "data: Message; code: 200;"),
    declared(
      "Failure<Code extends number, Message extends string>",
      "An error: the envelope, with its message as a type.",
      "code: Code; data: Message; field?: undefined;",
    ),
    declared(
      "Invalid<Field extends string>",
      "A request that cannot be read. `field` is the parameter to blame, where the message names one.",
      `code: 400; data: ${JSON.stringify(commonErrors[400])} | \`${invalidParameter("$")}{Field}\`; field: Field | undefined;`,
    ),
    ...Object.entries(sets).map(([name, { meaning, failures, header }], index) => {
      const field = header ? `Field | "${header}"` : "Field";
      const types = [`${names[index - 1] ?? "Invalid"}<${field}>`, ...failures];
      return `${docstring(meaning)}export type ${name}<Field extends string = never> = ${types.join(" | ")};`;
    }),
    `${docstring("What a call with a body can answer beside these.")}export type BodyErrors = ${ofBody.join(" | ")};`,
    `${docstring("Any error of any call.")}export type AnyFailure = Failure<number, string> | Invalid<string>;\n`,
  ].join("\n");
