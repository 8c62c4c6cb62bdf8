import { sqlState, statementTimeout } from "./errors.ts";
import type { Session } from "./session.ts";
import type { Sessions } from "./sessions.ts";

const queryCanceled = "57014";

/**
 * Runs a statement with the service's timeout. After it the statement is cancelled or, with `continueAfterTimeout`,
 * goes on; in both cases the caller gets a StatementTimeoutException (AWS, API_ExecuteStatement).
 */
export async function inTime<Outcome>(
  running: Promise<Outcome>,
  session: Session,
  { sessions, milliseconds, continueAfterTimeout = false }: Deadline,
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
    }, milliseconds);
  });
  try {
    return await Promise.race([running, deadline]);
  } catch (error) {
    throw isLate && sqlState(error) === queryCanceled ? statementTimeout(session.processId) : error;
  } finally {
    clearTimeout(timer);
  }
}

interface Deadline {
  /** One of these cancels the statement of another. */
  readonly sessions: Sessions;
  readonly milliseconds: number;
  readonly continueAfterTimeout?: boolean | undefined;
}
