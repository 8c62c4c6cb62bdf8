import * as openid from "openid-client";
import type { Attempt } from "./attempt.ts";
import { SignInFailure } from "./failure.ts";
import { clientId, failureOf, findProvider, forgetProvider } from "./provider.ts";
import { forgetSecret, readSecret } from "./secrets.ts";

/** The client's secret. Only the callback may read it. */
const clientSecretArn = process.env.SIGN_IN_CLIENT_SECRET_ARN ?? "";

/**
 * Exchanges the code in the callback's URL for an ID token, and verifies both: state and issuer of the URL; signature,
 * issuer, audience, nonce and times of the token. Anybody can write the URL, so an error in it is no failure of the
 * provider.
 * @param claim fails if this attempt has requested tokens before
 * @returns the identity that the provider has confirmed, with its e-mail address if the provider has verified that
 * @throws {SignInFailure}
 */
export async function identify(address: URL, attempt: Attempt, claim: () => Promise<void>, deadline: number) {
  const error = address.searchParams.get("error");
  if (error !== null)
    throw denials.has(error)
      ? new SignInFailure("denied", `the callback's URL has ${error}`)
      : new SignInFailure("invalid", "the callback's URL has an error");
  const provider = await findProvider(await readSecret(clientSecretArn, deadline));
  await claim();
  try {
    const tokens = await openid.authorizationCodeGrant(provider, address, {
      expectedState: attempt.state,
      expectedNonce: attempt.nonce,
      pkceCodeVerifier: attempt.codeVerifier,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    // openid-client checks it only if there are several audiences.
    if (claims?.azp !== undefined && claims.azp !== clientId)
      throw new SignInFailure("invalid", "an ID token for another client");
    if (!claims || !subjectPattern.test(claims.sub))
      throw new SignInFailure("invalid", "a subject that OpenID Connect does not allow");
    const withEmail =
      claims.email === undefined && provider.serverMetadata().userinfo_endpoint !== undefined
        ? await openid.fetchUserInfo(provider, tokens.access_token, claims.sub)
        : claims;
    return { subject: claims.sub, email: verifiedEmailIn(withEmail) };
  } catch (error) {
    // An invented code is no failure of the provider.
    if (error instanceof openid.ResponseBodyError && codeRefusals.has(error.error))
      throw new SignInFailure("invalid", "the provider does not accept the code");
    // The provider's keys or algorithms, or the client's secret, may have changed.
    forgetProvider();
    forgetSecret(clientSecretArn);
    throw failureOf(error);
  }
}

/** OpenID Connect Core, 2: at most 255 ASCII characters. */
const subjectPattern = /^[ -~]{1,255}$/;

/** PostgreSQL rejects some invisible characters, with an error that quotes the address. */
const verifiedEmailIn = ({ email, email_verified: isVerified }: openid.IDToken | openid.UserInfoResponse) =>
  typeof email === "string" && isVerified === true && !/\p{C}/u.test(email) ? email : null;

/** Errors of the token endpoint for an unknown or malformed code (RFC 6749, 5.2). */
const codeRefusals = new Set(["invalid_grant", "invalid_request"]);
/** Errors in the URL if the user is not signed in at the provider, or cancels (OpenID Connect Core, 3.1.2.6). */
const denials = new Set([
  "access_denied",
  "login_required",
  "consent_required",
  "interaction_required",
  "account_selection_required",
]);
