import * as openid from "openid-client";
import { startSignIn } from "../../lib/contract/sign-in.ts";
import { callbackOf, pageToComeBackTo } from "../../lib/sign-in/addresses.ts";
import { newAttempt } from "../../lib/sign-in/attempt.ts";
import { keepAttempt } from "../../lib/sign-in/cookies.ts";
import { serveNavigation } from "../../lib/sign-in/navigation.ts";
import { findProvider } from "../../lib/sign-in/provider.ts";

/** Begins an attempt: sets its cookie, and redirects to the provider. */
export const handler = serveNavigation(startSignIn, async ({ query, event, deadline }) => {
  const to = query.to ? pageToComeBackTo(query.to) : "";
  const [provider, attempt] = await Promise.all([findProvider(), newAttempt(to, deadline)]);
  const address = openid.buildAuthorizationUrl(provider, {
    redirect_uri: callbackOf(event),
    scope: "openid email",
    state: attempt.state,
    nonce: attempt.nonce,
    code_challenge: await openid.calculatePKCECodeChallenge(attempt.codeVerifier),
    code_challenge_method: "S256",
  });
  return { location: address.href, cookies: keepAttempt(event, attempt) };
});
