import * as openid from "openid-client";
import type { Attempt } from "./attempt.ts";
import { SignInFailure } from "./failure.ts";
import {
  clientId,
  configurationOf,
  findProvider,
  forgetProvider,
  keepKeys,
  reasonOf,
  restFromKeys,
} from "./provider.ts";
import { forgetSecret, readSecret } from "./secrets.ts";

/** The secret by which the provider knows that it is this service that asks. Only the callback may read it. */
const clientSecretArn = process.env.SIGN_IN_CLIENT_SECRET_ARN ?? "";

/** Who has signed in, as the provider says. */
export interface Person {
  readonly subject: string;
  /** Null if the provider has not verified one. */
  readonly email: string | null;
}

/**
 * Exchanges the code in the address for an ID token, and verifies all of it: state and issuer of the address; signature,
 * issuer, audience, nonce and times of the token. Anybody can write an address, so an error in it is no failure of the
 * provider.
 * @param claim fails if this attempt has asked the provider for tokens before
 * @throws {SignInFailure}
 */
export async function identify(
  address: URL,
  attempt: Attempt,
  claim: () => Promise<void>,
  deadline: number,
): Promise<Person> {
  const error = address.searchParams.get("error");
  if (error !== null)
    throw new SignInFailure(denials.has(error) ? "denied" : "invalid", `the address says ${knownWord(error)}`);
  const [metadata, secret] = await Promise.all([findProvider(), readSecret(clientSecretArn, deadline)]);
  const configuration = configurationOf(metadata, secret);
  await claim();
  try {
    const tokens = await openid.authorizationCodeGrant(configuration, address, {
      expectedState: attempt.state,
      expectedNonce: attempt.nonce,
      pkceCodeVerifier: attempt.codeVerifier,
      idTokenExpected: true,
    });
    keepKeys(configuration);
    const claims = tokens.claims();
    if (!claims || claims.iss !== metadata.issuer) throw new SignInFailure("invalid", "an ID token of another issuer");
    // openid-client looks at it only where the audience is several.
    if (claims.azp !== undefined && claims.azp !== clientId)
      throw new SignInFailure("invalid", "an ID token for another client");
    if (!subjectPattern.test(claims.sub))
      throw new SignInFailure("invalid", "a subject that OpenID Connect does not allow");
    const withEmail =
      claims.email === undefined && metadata.userinfo_endpoint !== undefined
        ? await openid.fetchUserInfo(configuration, tokens.access_token, claims.sub)
        : claims;
    return { subject: claims.sub, email: verifiedEmailIn(withEmail) };
  } catch (error) {
    const failure = failureOf(error);
    if (isUnknownKey(error)) {
      keepKeys(configuration);
      restFromKeys();
    } else if (failure.told === "unavailable") {
      forgetProvider();
      forgetSecret(clientSecretArn);
    } else if (signsOtherwise.has(failure.message)) {
      forgetProvider();
    }
    throw failure;
  }
}

/** OpenID Connect Core, 2: at most 255 ASCII characters. */
const subjectPattern = /^[ -~]{1,255}$/;

/** PostgreSQL cannot read some invisible characters, and would quote the address in its error. */
const verifiedEmailIn = ({ email, email_verified: isVerified }: openid.IDToken | openid.UserInfoResponse) =>
  typeof email === "string" && isVerified === true && !/\p{C}/u.test(email) ? email : null;

/** What a person can do about it decides what the page says: begin again, ask somebody, or wait. */
function failureOf(error: unknown): SignInFailure {
  if (error instanceof SignInFailure) return error;
  if (error instanceof openid.ResponseBodyError)
    return codeRefusals.has(error.error)
      ? new SignInFailure("invalid", "the provider does not accept the code")
      : new SignInFailure("unavailable", `the token endpoint says ${knownWord(error.error)}`);
  return new SignInFailure(isInvalid(error) ? "invalid" : "unavailable", reasonOf(error));
}

/** What token endpoints say of a code that they do not know, or cannot read (RFC 6749, 5.2). */
const codeRefusals = new Set(["invalid_grant", "invalid_request"]);
/** What they say when somebody is not signed in there, or does not want to be here (OpenID Connect Core, 3.1.2.6). */
const denials = new Set([
  "access_denied",
  "login_required",
  "consent_required",
  "interaction_required",
  "account_selection_required",
]);
const known = new Set([
  ...codeRefusals,
  ...denials,
  "server_error",
  "temporarily_unavailable",
  "unauthorized_client",
  "unsupported_response_type",
  "invalid_scope",
  "invalid_client",
  "unsupported_grant_type",
]);

/** The address is written by whoever sends the browser here, so the log has only words that a standard has. */
const knownWord = (word: string) => (known.has(word) ? word : "something unknown");

const isUnknownKey = (error: unknown) =>
  error instanceof Error && "code" in error && error.code === "OAUTH_KEY_SELECTION_FAILED";

/**
 * What openid-client says where the key is known by its name, and the token was signed with another one, or by an
 * algorithm that the provider did not name when it was asked.
 */
const signsOtherwise = new Set(["JWT signature verification failed", 'unexpected JWT "alg" header parameter']);

/** Codes of openid-client for what comes back from the browser, or is in an ID token, and is not as it should be. */
const invalidities = new Set([
  "OAUTH_INVALID_RESPONSE",
  "OAUTH_JWT_CLAIM_COMPARISON_FAILED",
  "OAUTH_JWT_TIMESTAMP_CHECK_FAILED",
  "OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED",
  "OAUTH_KEY_SELECTION_FAILED",
  "OAUTH_UNSUPPORTED_OPERATION",
]);

/** A response of the provider that makes no sense has the same code as an ID token that does not; its message tells. */
const isInvalid = (error: unknown): boolean =>
  error instanceof Error &&
  "code" in error &&
  invalidities.has(String(error.code)) &&
  !reasonOf(error).startsWith('"response"');
