import type { Field, SqlParameter } from "@aws-sdk/client-rds-data";

/** A call or a few, and what comes back. */
export interface Probe {
  name: string;
  /** An AWS page, a published recording, or `unproved`. */
  source: string;
  steps: readonly Step[];
}

/** A call of the Data API. */
export interface Step {
  call: "execute" | "begin" | "commit" | "rollback";
  input: object;
  expected: Expected;
  /** The name that the probe gives the call's transaction. */
  transaction?: string;
  /** The milliseconds that pass before it. */
  after?: number;
  /** The next step does not wait for its end. */
  meanwhile?: true;
}

/**
 * The members that a response must have, `undefined` for those that it must not have; or an error. A regular expression
 * stands for a text that it matches. What is long is named by its length: `25000 rows`, `65530 characters`.
 */
export type Expected = Readonly<Record<string, unknown>>;

/** An integer, a text, a boolean, NULL or a field. */
export type Value = number | string | boolean | null | object;
export type Parameters = Readonly<Record<string, Value>>;

export const double = (doubleValue: number) => ({ doubleValue });
/** In base64, as it travels. */
export const blob = (blobValue: string) => ({ blobValue });

function fieldOf(value: Value): object {
  if (value === null) return { isNull: true };
  if (typeof value === "number") return { longValue: value };
  if (typeof value === "string") return { stringValue: value };
  return typeof value === "boolean" ? { booleanValue: value } : value;
}

/** One row of these values. */
export const row = (...values: Value[]) => ({ records: [values.map(fieldOf)] });
/** Rows of one value each. */
export const column = (...values: Value[]) => ({ records: values.map((value) => [fieldOf(value)]) });
export const updated = (numberOfRecordsUpdated: number) => ({ numberOfRecordsUpdated, records: undefined });
/** Any response but an error. */
export const done: Expected = { error: undefined };

const failing = (error: string, status: number) => (message: string | RegExp) => ({ error, status, message });
export const databaseError = failing("DatabaseErrorException", 400);
/** An error of PostgreSQL: its SQLSTATE, and its text where a probe is about that. */
export const refused = (state: string, message?: string) =>
  databaseError(message ? `ERROR: ${message}; SQLState: ${state}` : new RegExp(`^ERROR: [^]*; SQLState: ${state}$`));
export const invalid = failing("ValidationException", 400);
export const unsupported = failing("UnsupportedResultException", 400);
export const notFound = failing("TransactionNotFoundException", 404);
export const timedOut = failing("StatementTimeoutException", 400)(/./);
/** It has no message: the service's own conversion failed. */
export const internalFailure = failing("InternalFailure", 500)("UnknownError");

/** A probe of one statement. */
export const probe = (name: string, sql: string, expected: Expected, extra: object = {}) =>
  scenario(name, execute(sql, expected, extra));

/** A probe of one value, named by its expression. */
export const value = (expression: string, value: Value) => probe(expression, `select ${expression}`, row(value));

/** A probe of one statement with parameters. */
export const bound = (name: string, sql: string, parameters: Parameters, expected: Expected) =>
  probe(name, sql, expected, { parameters: toParameters(parameters) });

export const scenario = (name: string, ...steps: Step[]) => ({ name, steps });

/** Probes by the sources of their expectations. */
export const bySource = (probes: Readonly<Record<string, readonly Omit<Probe, "source">[]>>): Probe[] =>
  Object.entries(probes).flatMap(([source, those]) => those.map((probe) => ({ ...probe, source })));

export const execute = (sql: string, expected: Expected = done, extra: object = {}): Step => ({
  call: "execute",
  input: { sql, ...extra },
  expected,
});

const step =
  (call: Step["call"]) =>
  (expected: Expected = done, transaction = "t", input: object = {}): Step => ({ call, input, expected, transaction });
export const begin = step("begin");
export const commit = step("commit");
export const rollback = step("rollback");

/** A step of a transaction. */
export const within = (step: Step, transaction = "t"): Step => ({ ...step, transaction });
/** A transaction that is rolled back at the end of the probe unless it is committed; texts are its statements. */
export const transaction = (name: string, ...steps: (Step | string | readonly [sql: string, Expected])[]) =>
  scenario(
    name,
    begin(),
    ...steps.map((step) => {
      if (typeof step === "string") return within(execute(step));
      return "call" in step ? step : within(execute(...step));
    }),
  );
export const meanwhile = (step: Step): Step => ({ ...step, meanwhile: true });
export const after = (milliseconds: number, step: Step): Step => ({ ...step, after: milliseconds });

function toParameters(parameters: Parameters): SqlParameter[] {
  return Object.entries(parameters).map(([name, value]) => {
    const field = fieldOf(value);
    const isBlob = "blobValue" in field;
    return { name, value: (isBlob ? { blobValue: Buffer.from(`${field.blobValue}`, "base64") } : field) as Field };
  });
}
