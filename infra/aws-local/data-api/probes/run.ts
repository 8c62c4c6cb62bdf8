import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { RDSData } from "@aws-sdk/client-rds-data";
import { type Expected, type Probe, rollback, type Step } from "./probe.ts";

/** Where probes are sent. */
export interface Target {
  client: RDSData;
  resourceArn: string;
  secretArn: string;
  database: string;
}

/** What a step brought. */
export interface ProbeResult {
  call: string;
  response: Record<string, unknown>;
  expected: Expected;
  differs: boolean;
}

const calls: Record<Step["call"], (client: RDSData, input: never, options: object) => Promise<object>> = {
  execute: (client, input, options) => client.executeStatement(input, options),
  begin: (client, input, options) => client.beginTransaction(input, options),
  commit: (client, input, options) => client.commitTransaction(input, options),
  rollback: (client, input, options) => client.rollbackTransaction(input, options),
};

/** Takes the steps of a probe until the signal, and rolls back the transactions that it leaves open. */
export async function runProbe(target: Target, { steps }: Probe, abortSignal?: AbortSignal): Promise<ProbeResult[]> {
  const { client, database, resourceArn, secretArn } = target;
  const ids = new Map<string, string>();

  const send = async ({ call, input, transaction }: Step, options = {}): Promise<object> => {
    const arns = { resourceArn, secretArn, ...(call !== "commit" && call !== "rollback" && { database }) };
    const transactionId = call === "begin" || !transaction ? undefined : (ids.get(transaction) ?? transaction);
    const all = { ...arns, ...(transactionId && { transactionId }), ...input };
    const response = await calls[call](client, all as never, options);
    if (transaction && "transactionId" in response) ids.set(transaction, `${response.transactionId}`);
    return response;
  };

  const take = async (step: Step): Promise<ProbeResult> => {
    const response = legible(await send(step, abortSignal && { abortSignal }).catch(errorOf), ids);
    return { call: callOf(step), response, expected: step.expected, differs: !matches(step.expected, response) };
  };

  const taken: Promise<ProbeResult>[] = [];
  try {
    for (const step of steps) {
      await sleep(step.after ?? 0, undefined, abortSignal && { signal: abortSignal });
      taken.push(take(step));
      if (!step.meanwhile) await taken.at(-1);
    }
    return await Promise.all(taken);
  } finally {
    // Those that have ended are not found.
    for (const name of ids.keys()) await send({ ...rollback(), transaction: name }).catch(() => {});
  }
}

const callOf = ({ call, input, transaction, after }: Step) =>
  [after && `after ${after} ms`, call, transaction && `in ${transaction}`, abridgedJson(input)]
    .filter((part) => part && part !== "{}")
    .join(" ");

interface SdkError extends Error {
  $metadata?: { httpStatusCode?: number };
  dbConnectionId?: number;
}

const errorOf = ({ name, message, $metadata, dbConnectionId }: SdkError) => ({
  error: name,
  status: $metadata?.httpStatusCode,
  message,
  ...(dbConnectionId && { dbConnectionId }),
});

/** Blobs in base64, what is long by its length, and transactions by the names that the probe gives them. */
function legible(response: object, ids: Map<string, string>): Record<string, unknown> {
  let json = abridgedJson({ ...response, $metadata: undefined });
  if (!("transactionId" in response)) for (const [name, id] of ids) json = json.replaceAll(id, name);
  return JSON.parse(json);
}

const abridgedJson = (value: object) =>
  JSON.stringify(value, (_, part) => {
    if (part instanceof Uint8Array) return Buffer.from(part).toString("base64");
    if (typeof part === "string" && part.length > 600) return `${part.length} characters`;
    return Array.isArray(part) && part.length > 50 ? `${part.length} rows` : part;
  });

function matches(expected: unknown, actual: unknown): boolean {
  if (expected instanceof RegExp) return typeof actual === "string" && expected.test(actual);
  if (!isObject(expected)) return isDeepStrictEqual(expected, actual);
  if (!isObject(actual) || Array.isArray(expected) !== Array.isArray(actual)) return false;
  if (Array.isArray(expected) && Array.isArray(actual) && expected.length !== actual.length) return false;
  return Object.entries(expected).every(([name, part]) => matches(part, actual[name]));
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;
