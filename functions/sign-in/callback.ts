import type { APIGatewayProxyEvent } from "aws-lambda";
import { finishSignIn } from "../../lib/contract/sign-in.ts";
import { claimAttempt, openSession } from "../../lib/data-api/sign-in.ts";
import { rememberCaller } from "../../lib/http/log.ts";
import { digestOf, newToken } from "../../lib/http/token.ts";
import { callbackOf, pageOfPanel } from "../../lib/sign-in/addresses.ts";
import { attemptIn } from "../../lib/sign-in/attempt.ts";
import { attemptCookieIn, forgetAttempt, sessionCookies } from "../../lib/sign-in/cookies.ts";
import { SignInFailure } from "../../lib/sign-in/failure.ts";
import { rememberAttempt, serveNavigation } from "../../lib/sign-in/navigation.ts";
import { identify } from "../../lib/sign-in/provider.ts";
import { issuer } from "../../lib/sign-in/registration.ts";

/** The client's secret. The function that begins an attempt does not load this line, and so has no right to it. */
const clientSecretArn = process.env.SIGN_IN_CLIENT_SECRET_ARN ?? "";
/** How long a session lasts, by the stage's setting. */
const sessionDays = Number(process.env.SIGN_IN_SESSION_DAYS);
const daySeconds = 86_400;

/** Opens a session, if the provider identifies a user of the database. */
export const handler = serveNavigation(finishSignIn, async ({ event, deadline }) => {
  const { state = "" } = event.queryStringParameters ?? {};
  const attempt = await attemptIn(attemptCookieIn(event, state), deadline);
  if (!attempt) throw new SignInFailure("invalid", "no attempt of this browser, or one that is too old");
  rememberAttempt(event, attempt);
  const token = newToken();
  const request = { digest: digestOf(token), key: digestOf(attempt.state), id: event.requestContext.requestId };
  const claim = async () => {
    const { status } = await claimAttempt(request, deadline);
    if (status !== 200) throw new SignInFailure("invalid", "the attempt has come back before");
  };
  const person = await identify(addressOf(event), attempt, clientSecretArn, claim, deadline);
  const { status, caller } = await openSession(
    { ...person, ...request, issuer, days: sessionDays, startedAt: attempt.startedAt },
    deadline,
  );
  rememberCaller(event, caller);
  if (status === 403) throw new SignInFailure("denied", "no user with this identity, and none with this address");
  // 401: the user was logged out since the attempt began.
  if (status !== 200) throw new SignInFailure("invalid", `the database refused the attempt: ${status}`);
  return {
    location: pageOfPanel(attempt.to),
    cookies: [...sessionCookies(event, token, sessionDays * daySeconds), forgetAttempt(event, attempt)],
  };
});

/** The parameters that openid-client reads, except the extension `response`. */
const parameters = ["code", "error", "id_token", "iss", "state", "token"];

/** The callback's URL. A parameter that comes twice stays twice, so openid-client rejects it. */
function addressOf(event: APIGatewayProxyEvent): URL {
  const address = new URL(callbackOf(event));
  for (const name of parameters)
    for (const value of event.multiValueQueryStringParameters?.[name] ?? []) address.searchParams.append(name, value);
  return address;
}
