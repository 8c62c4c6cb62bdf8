import * as z from "zod/mini";
import { prepareNotification } from "../http/notify.ts";
import { type OperatorContext, operatorFunction } from "./operator-function.ts";
import type { OperatorEndpoint, OperatorPayload } from "./payloads.ts";

/**
 * Makes the Lambda handler of an operators' function that changes what the public reads. It notifies the edge as endpoints
 * do, but only once, when it ends, also by an error: `ops-invalidate` then finds all that it has changed.
 */
export function repairFunction<Endpoint extends OperatorEndpoint, Result>(
  endpoint: Endpoint,
  handle: (input: OperatorPayload<Endpoint>, context: OperatorContext) => Promise<Result>,
) {
  return operatorFunction(endpoint, async (input: OperatorPayload<Endpoint>, context) => {
    const notify = prepareNotification();
    let hasChanged = false;
    const change: OperatorContext["change"] = async (...request) => {
      const outcome = await context.change(...request);
      hasChanged ||= recorded.safeParse(outcome.result).success;
      return outcome;
    };
    try {
      return await handle(input, { ...context, change });
    } finally {
      if (hasChanged) await notify((fields) => context.log(fields, "warn"));
    }
  });
}

/** The ledger has a row of it (lib/changes/request.sql); of a dry run, and of what was refused, it has none. */
const recorded = z.object({ change: z.number() });
