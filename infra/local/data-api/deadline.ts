import { sqlState, statementTimeout } from "./errors.ts";
import type { Limits } from "./limits.ts";
import type { BoundStatement } from "./parameters.ts";
import { type Outcome, run } from "./query.ts";
import type { Session, Sessions } from "./sessions.ts";

const queryCanceled = "57014";

/**
 * Runs a statement for as long as the service lets it: then it is cancelled, or with `continueAfterTimeout` left to
 * finish by itself; the caller hears of the time-out either way (AWS, API_ExecuteStatement).
 */
export async function runInTime(
  sessions: Sessions,
  session: Session,
  statement: BoundStatement,
  limits: Limits,
  continueAfterTimeout: boolean,
): Promise<Outcome> {
  const running = run(session.client, statement, limits);
  const settled = () => {
    session.running = undefined;
  };
  session.running = running.then(settled, settled);
  let late = false;
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      late = true;
      if (continueAfterTimeout) reject(statementTimeout(session.processId));
      else sessions.cancel(session).catch(reject);
    }, limits.statementTimeoutInMilliseconds);
  });
  try {
    return await Promise.race([running, deadline]);
  } catch (error) {
    throw late && sqlState(error) === queryCanceled ? statementTimeout(session.processId) : error;
  } finally {
    clearTimeout(timer);
  }
}
