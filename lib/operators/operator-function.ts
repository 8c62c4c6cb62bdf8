import { randomUUID } from "node:crypto";
import type { Context } from "aws-lambda";
import { writeLog } from "../aws/log.ts";
import { deadlineOf, type RequestTimeouts, usualTimeouts } from "../aws/retry.ts";
import type { OperatorChangeName } from "../changes/all.ts";
import { changeAsOperator, changeWithin, type Outcome } from "../data-api/change.ts";
import type { Send } from "../data-api/transaction.ts";
import { type OperatorEndpoint, type OperatorPayload, payloadOf } from "./payloads.ts";
import { refusal } from "./refusal.ts";

/** What an operator function gets beside its input. */
export interface OperatorContext {
  /**
   * Changes something by the database function of this name (lib/changes), and returns its status and result.
   * @param digest of a token; it is stored with the session, but not in the ledger
   * @throws the reason for which the function refuses
   */
  readonly change: (name: OperatorChangeName, input?: OperatorInput, digest?: string) => Promise<Changed>;
  /** The same in a transaction. */
  readonly changeWithin: (send: Send, name: OperatorChangeName, input: OperatorInput) => Promise<Changed>;
  /** Logs a line about the invocation. */
  readonly log: (fields: Readonly<Record<string, unknown>>, level?: "info" | "warn") => void;
  /** Until then the function should be done, before Lambda ends it. */
  readonly deadline: number;
  /** Lambda's own. */
  readonly context: Context | undefined;
}

/** The database function gets these fields apart from the others. */
interface OperatorInput extends Readonly<Record<string, unknown>> {
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
  readonly dryRun?: boolean | undefined;
}

interface Changed {
  readonly status: number;
  readonly result: unknown;
}

/** An operator waits as long as the function may run. */
const timeouts: RequestTimeouts = { ...usualTimeouts, timeoutInMilliseconds: Number.POSITIVE_INFINITY };

/**
 * Makes the Lambda handler of a function that operators and deployments invoke directly. An error that it throws is
 * shown to them.
 * @param endpoint its path in `functions/`, for the ledger
 */
export function operatorFunction<Endpoint extends OperatorEndpoint, Result>(
  endpoint: Endpoint,
  handle: (input: OperatorPayload<Endpoint>, context: OperatorContext) => Promise<Result>,
): (event: unknown, context?: Context) => Promise<Result> {
  // As in the lines about requests.
  const name = endpoint.replace("/", "-");
  return async (event, context) => {
    const input = payloadOf(endpoint, event);
    const requestOf = ({ by: operator, reason, dryRun: dry_run, ...rest }: OperatorInput) => {
      // A new key: when Lambda invokes the function again, it has a new token or other images, so it is another change.
      const key = randomUUID();
      return { key, id: context?.awsRequestId ?? key, endpoint, operator, reason, dry_run, input: rest };
    };
    const change: OperatorContext["change"] = async (name, values = {}, digest = "") =>
      changed(await changeAsOperator(name, { ...requestOf(values), digest }));
    const within: OperatorContext["changeWithin"] = async (send, name, values) =>
      changed(await changeWithin(send, name, requestOf(values)));
    const common = { endpoint: name, requestId: context?.awsRequestId };
    const log: OperatorContext["log"] = (fields, level = "info") => writeLog(level, { ...common, ...fields });
    const deadline = context ? deadlineOf(context, timeouts) : Number.POSITIVE_INFINITY;
    return await handle(input, { change, changeWithin: within, log, deadline, context });
  };
}

function changed({ status, body }: Outcome): Changed {
  const result = JSON.parse(body ?? "null");
  if (status !== 200 && result !== null) throw refusal(result);
  return { status, result };
}
