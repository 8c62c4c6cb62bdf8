import type { APIGatewayProxyEvent } from "aws-lambda";
import { openSession } from "../data-api/sign-in.ts";
import { rememberCaller } from "../http/log.ts";
import { digestOf, newToken } from "../token.ts";
import { callbackOf, pageOfPanel } from "./addresses.ts";
import { attemptIn } from "./attempt.ts";
import { attemptCookieIn, forgetAttempt } from "./attempt-cookies.ts";
import { SignInFailure } from "./failure.ts";
import { identify } from "./identify.ts";
import { type NavigationContext, type Redirection, rememberAttempt } from "./navigation.ts";
import { issuer } from "./provider.ts";
import { sessionCookies } from "./session-cookies.ts";

/** How long a session lasts; the stage's setting. */
const sessionDays = Number(process.env.SIGN_IN_SESSION_DAYS);
const daySeconds = 86_400;

/** Ends an attempt to sign in with a session, if the provider and the database know whose it is. */
export async function finish({ event, deadline }: NavigationContext): Promise<Redirection> {
  const { state = "" } = event.queryStringParameters ?? {};
  const attempt = await attemptIn(attemptCookieIn(event, state), deadline);
  if (!attempt) throw new SignInFailure("invalid", "no attempt of this browser, or one that took too long");
  rememberAttempt(event, attempt);
  const person = await identify(addressOf(event), attempt, deadline);
  const token = newToken();
  const { status, caller } = await openSession(
    {
      ...person,
      issuer,
      digest: digestOf(token),
      days: sessionDays,
      startedAt: attempt.startedAt,
      // Whoever replays the attempt gets no second session.
      key: digestOf(attempt.state),
      id: event.requestContext.requestId,
    },
    deadline,
  );
  rememberCaller(event, caller);
  if (status === 403) throw new SignInFailure("stranger", "no user with this identity, and none with this address");
  if (status === 401) throw new SignInFailure("invalid", "the user was logged out since the attempt began");
  if (status !== 200) throw new SignInFailure("invalid", `the database refused the attempt: ${status}`);
  return {
    location: pageOfPanel(attempt.to),
    cookies: [...sessionCookies(event, token, sessionDays * daySeconds), forgetAttempt(event, attempt)],
  };
}

/** The address to which the provider has sent the browser. A parameter that comes twice stays twice, and is refused. */
function addressOf(event: APIGatewayProxyEvent): URL {
  const address = new URL(callbackOf(event));
  for (const [name, values = []] of Object.entries(event.multiValueQueryStringParameters ?? {}))
    for (const value of values) address.searchParams.append(name, value);
  return address;
}
