import { operatorFunction } from "../../lib/operators/operator-function.ts";

/**
 * Ends all sessions of a user, and attempts to sign in that are under way, as a logout by an administrator does. For a
 * token that another person may have.
 */
export const handler = operatorFunction("ops/end-sessions", async (input, { change }) => {
  const { result } = await change("end_sessions", input);
  return result;
});
