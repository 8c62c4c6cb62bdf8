import { sqlState, statementTimeout } from "./errors.ts";
import type { Service } from "./operations.ts";
import type { Request } from "./requests.ts";
import type { Session } from "./session.ts";

const queryCanceled = "57014";

/**
 * Runs a statement with the service's timeout. After it the statement is cancelled or, with `continueAfterTimeout`,
 * goes on; in both cases the caller gets a StatementTimeoutException (AWS, API_ExecuteStatement).
 */
export async function inTime<Outcome>(
  { sessions, limits }: Service,
  session: Session,
  { continueAfterTimeout = false }: Request,
  running: Promise<Outcome>,
): Promise<Outcome> {
  const settled = () => {
    session.running = undefined;
  };
  session.running = running.then(settled, settled);
  let isLate = false;
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      isLate = true;
      if (continueAfterTimeout) reject(statementTimeout(session.processId));
      else sessions.cancel(session).catch(reject);
    }, limits.statementTimeoutInMilliseconds);
  });
  try {
    return await Promise.race([running, deadline]);
  } catch (error) {
    throw isLate && sqlState(error) === queryCanceled ? statementTimeout(session.processId) : error;
  } finally {
    clearTimeout(timer);
  }
}
