import { setTimeout as sleep } from "node:timers/promises";
import { connectToLambda, invokeLater } from "../aws/lambda.ts";
import { serializeError } from "./log.ts";

/** On a stage with an edge: the function that invalidates what has changed (functions/ops/invalidate.ts). */
const name = process.env.INVALIDATE_FUNCTION;

/** For so long the response to a change waits for Lambda to accept the event. */
const waitInMilliseconds = 50;

/** Notifies `ops-invalidate` that something has changed. It never fails. */
export type Notify = (warn: (fields: Readonly<Record<string, unknown>>) => void) => Promise<void>;

/**
 * Opens a connection to Lambda, to have it when the change is made. An event that does not reach Lambda delays the
 * invalidation until the function's schedule.
 */
export function prepareNotification(): Notify {
  if (!name) return async () => {};
  connectToLambda();
  return async (warn) => {
    const sent = invokeLater(name, {}).catch(serializeError);
    // It may still arrive after that, and does no harm.
    const late = sleep(waitInMilliseconds, { message: `No response within ${waitInMilliseconds} ms` });
    const failure = await Promise.race([sent, late]);
    if (failure) warn({ notification: failure });
  };
}
