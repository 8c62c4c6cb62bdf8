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
 * issuer, audience, nonce and times of the token.
 * @throws {SignInFailure}
 */
export async function identify(address: URL, attempt: Attempt, deadline: number): Promise<Person> {
  const [metadata, secret] = await Promise.all([findProvider(), readSecret(clientSecretArn, deadline)]);
  const configuration = configurationOf(metadata, secret);
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
    } else if (failure.told === "unavailable" && !(error instanceof openid.AuthorizationResponseError)) {
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
  if (error instanceof openid.AuthorizationResponseError) return refusalOf(error.error);
  if (error instanceof openid.ResponseBodyError)
    return error.error === "invalid_grant"
      ? new SignInFailure("invalid", "the provider does not accept the code")
      : new SignInFailure("unavailable", `the token endpoint says ${knownWord(error.error)}`);
  return new SignInFailure(isInvalid(error) ? "invalid" : "unavailable", reasonOf(error));
}

/** What providers say of themselves when they cannot do it now (RFC 6749, 4.1.2.1). */
const temporary = new Set(["server_error", "temporarily_unavailable"]);
/** What they say when somebody is not signed in there, or does not want to be here (OpenID Connect Core, 3.1.2.6). */
const denials = new Set([
  "access_denied",
  "login_required",
  "consent_required",
  "interaction_required",
  "account_selection_required",
]);
const known = new Set([
  ...temporary,
  ...denials,
  "invalid_request",
  "unauthorized_client",
  "unsupported_response_type",
  "invalid_scope",
  "invalid_client",
  "invalid_grant",
  "unsupported_grant_type",
]);

/** The address is written by whoever sends the browser here, so the log has only words that a standard has. */
const knownWord = (word: string) => (known.has(word) ? word : "something unknown");

function refusalOf(word: string): SignInFailure {
  if (temporary.has(word)) return new SignInFailure("unavailable", `the provider says ${word}`);
  return new SignInFailure(denials.has(word) ? "denied" : "invalid", `the provider says ${knownWord(word)}`);
}

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
