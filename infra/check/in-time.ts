import { Failure, hasTimedOut } from "../aws-local/lambda/failure.ts";
import type { Lambda } from "../aws-local/lambda/lambda.ts";
import { functionPathOf } from "../command/event.ts";

/** The error of a function whose response comes too late, or never. */
export const notInTime = (path: string, milliseconds: number): Error =>
  new Error(
    `${path} did not respond within ${milliseconds / 1_000} s: either the machine is busy, and npm run check passes when ` +
      "fewer programs run, or the function waits for something that never happens",
  );

/**
 * Lambda with a time-out that names the function.
 * @param milliseconds the time-out of all functions
 */
export const withNamedTimeouts = (lambda: Pick<Lambda, "invoke">, milliseconds: number): Pick<Lambda, "invoke"> => ({
  async invoke(name, event) {
    const invocation = await lambda.invoke(name, event);
    if ("error" in invocation && hasTimedOut(new Failure(invocation.error)))
      throw notInTime(functionPathOf(name), milliseconds);
    return invocation;
  },
});
