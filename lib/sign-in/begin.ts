import * as openid from "openid-client";
import { normalPathOf } from "../contract/panel-path.ts";
import type { startSignIn } from "../contract/sign-in.ts";
import type { Input } from "../http/input.ts";
import { callbackOf } from "./addresses.ts";
import { newAttempt } from "./attempt.ts";
import { keepAttempt } from "./cookies.ts";
import type { NavigationContext, Redirection } from "./navigation.ts";
import { findProvider } from "./provider.ts";

/** Begins an attempt: sets its cookie, and redirects to the provider. */
export async function begin({
  query,
  event,
  deadline,
}: Input<typeof startSignIn> & NavigationContext): Promise<Redirection> {
  // The path as sent may be too long for a cookie: `/a/../a/../…`.
  const to = normalPathOf(query.to ?? "") ?? "";
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
}
