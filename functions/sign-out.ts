import { deadlineOf } from "../lib/aws/retry.ts";
import { signOut } from "../lib/contract/sign-in.ts";
import { closeSession } from "../lib/data-api/sign-in.ts";
import { rememberCaller } from "../lib/http/log.ts";
import { pipeline } from "../lib/http/pipeline.ts";
import { ContractError, envelope } from "../lib/http/response.ts";
import { digestsIn, isForeign } from "../lib/http/session.ts";
import { forgetSession } from "../lib/sign-in/cookies.ts";

/** A browser has at most one session for each domain above the API's host. */
const sessionsMax = 5;

/** Ends the sessions of a request, usually one or none, and deletes the cookies. */
export const handler = pipeline(signOut).handler(async (event, context) => {
  if (isForeign(event)) throw new ContractError(403);
  const deadline = deadlineOf(context);
  for (const digest of digestsIn(event).slice(0, sessionsMax)) {
    const { status, caller } = await closeSession({ digest, id: event.requestContext.requestId }, deadline);
    rememberCaller(event, caller);
    // Who has no session is signed out already.
    if (status !== 200 && status !== 401) throw new ContractError(status);
  }
  return { ...envelope(200, signOut.response.message), multiValueHeaders: { "Set-Cookie": forgetSession(event) } };
});
