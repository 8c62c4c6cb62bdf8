import { sqlState, statementTimeout } from "./errors.ts";
import type { Limits } from "./limits.ts";
import type { Session, Sessions } from "./sessions.ts";

const queryCanceled = "57014";

/**
 * Lets a statement run for as long as the service does: then it is cancelled, or with `continueAfterTimeout` left to
 * finish by itself; the caller hears of the time-out either way (AWS, API_ExecuteStatement).
 */
export async function runInTime<Outcome>(
  sessions: Sessions,
  session: Session,
  running: Promise<Outcome>,
  limits: Limits,
  continueAfterTimeout: boolean,
): Promise<Outcome> {
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
