import { createHash } from "node:crypto";
import { deadlineOf } from "../aws/retry.ts";
import type { ChangeName, ChangeNameOf } from "../changes/all.ts";
import { type Declaration, endpointPath } from "../contract/declare.ts";
import { forbiddenByRule, invalidParameter } from "../contract/errors.ts";
import type { Fault } from "../contract/faults.ts";
import type { Permission } from "../contract/permissions.ts";
import { change } from "../data-api/change.ts";
import { type Input, inputParser } from "./input.ts";
import { invalidParameters } from "./invalid-parameters.ts";
import { log, rememberCaller } from "./log.ts";
import { prepareNotification } from "./notify.ts";
import { pipeline } from "./pipeline.ts";
import { ContractError, envelope, statementError } from "./response.ts";
import { guardOf } from "./session.ts";

type ChangeDeclaration = Declaration & {
  readonly method: "POST" | "DELETE";
  readonly permission: Permission;
  readonly response: { readonly message: string };
};

export interface ChangeContext<Name extends ChangeName = ChangeName> {
  /**
   * Changes a record by the database function of this name (lib/changes). Returns its result, JSON or null. Any status
   * but 200 is thrown as an error of the contract.
   */
  readonly change: (name: Name, target: number | null, input?: object) => Promise<string | null>;
  /** The deadline of all calls of the request, statements and others. */
  readonly deadline: number;
  /** Logs a warning about this request. */
  readonly warn: (fields: Readonly<Record<string, unknown>>) => void;
}

/**
 * A longer body is parsed only for a valid session: 6 MB of brackets take half a second. Up to this length parsing costs
 * less than the call that would spare it.
 */
const unknownSendersLengthMax = 16_384;

/** Makes the Lambda handler of an endpoint that changes something. */
export function serveChange<const D extends ChangeDeclaration>(
  declaration: D,
  handle: (
    input: Omit<Input<D>, "headers"> & ChangeContext<ChangeNameOf<D>>,
  ) => Promise<D extends { readonly creates: string } ? string | null : unknown>,
) {
  const parse = inputParser(declaration);
  const endpoint = endpointPath(declaration);
  return pipeline(declaration).handler(async (event, context) => {
    const deadline = deadlineOf(context);
    const guard = guardOf(declaration, event);
    const id = event.requestContext.requestId;
    if (declaration.body && (event.body?.length ?? 0) > unknownSendersLengthMax) {
      const check = { key: context.awsRequestId, id, endpoint, input: {} };
      const { status } = await change("check_session", guard, check, deadline);
      if (status === 401) throw new ContractError(401);
    }
    const { headers, ...input } = parse(event);
    const { key: clientKey, versions } = headers;
    const notify = declaration.changesPublic ? prepareNotification() : undefined;
    const warn: ChangeContext["warn"] = (fields) => log(event, "warn", fields);
    const request = {
      id,
      // Not the id above: all sample events share it, and a change by a second invocation is a second change.
      key: clientKey ?? context.awsRequestId,
      fingerprint: clientKey === undefined ? undefined : fingerprintOf(input),
      ...(declaration.parameters && { versions }),
      endpoint,
    };
    const result = await handle({
      ...input,
      deadline,
      change: async (name, target, values = {}) => {
        const { status, body, caller } = await change(name, guard, { ...request, target, input: values }, deadline);
        rememberCaller(event, caller);
        if (status === 200) return body;
        throw refusal(declaration, status, body);
      },
      warn,
    });
    await notify?.(warn);
    const { creates, response } = declaration;
    return envelope(200, response.message, creates ? { Location: creates.replace("{id}", String(result)) } : {});
  });
}

/** A change returns what is wrong with a parameter, or the rule that forbids it. */
function refusal(declaration: Declaration, status: number, result: string | null): ContractError {
  if (result === null) return statementError(declaration, status);
  if (status === 403) {
    const rule: keyof typeof forbiddenByRule = JSON.parse(result);
    return new ContractError(403, forbiddenByRule[rule]);
  }
  const fault: Fault = JSON.parse(result);
  return new ContractError(status, invalidParameter(fault.name), invalidParameters([fault]));
}

/** Tells different requests with the same key apart. */
const fingerprintOf = (input: object) => createHash("sha256").update(JSON.stringify(input)).digest("base64url");
