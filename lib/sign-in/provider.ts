import * as openid from "openid-client";
import type { Attempt } from "./attempt.ts";
import { SignInFailure } from "./failure.ts";
import { clientId, issuer } from "./registration.ts";
import { forgetSecret, readSecret } from "./secrets.ts";

/** The timeout of a request to the provider. An attempt makes four requests at most. */
const timeoutInSeconds = 4;
const responseBytesMax = 1_000_000;
/** Clocks may differ by two minutes, and an attempt takes a while. */
const clockToleranceInSeconds = 150;

/** Only the provider of one machine has no https; the settings of a stage require it. */
const isInsecure = issuer.startsWith("http:");

/** The provider's metadata; openid-client stores its keys with them for five minutes. */
let known: { configuration: openid.Configuration; clientSecret: string | undefined; until: number } | undefined;
const knownMilliseconds = 60 * 60_000;
/** How long cached metadata are valid after a failure. */
const pauseMilliseconds = 60_000;

/**
 * The provider's metadata, read once an hour. While the provider is down, the cached ones are valid.
 * @throws {SignInFailure} if none are cached
 */
export async function findProvider(clientSecret?: string): Promise<openid.Configuration> {
  const cached = known?.clientSecret === clientSecret ? known : undefined;
  if (cached && Date.now() < cached.until) return cached.configuration;
  try {
    const configuration = await discover(clientSecret);
    known = { configuration, clientSecret, until: Date.now() + knownMilliseconds };
    return configuration;
  } catch (error) {
    if (!cached) throw error;
    cached.until = Date.now() + pauseMilliseconds;
    return cached.configuration;
  }
}

/** The next attempt reads the metadata again. */
export function forgetProvider(): void {
  if (known) known.until = 0;
}

async function discover(clientSecret: string | undefined): Promise<openid.Configuration> {
  try {
    const configuration = await openid.discovery(
      new URL(issuer),
      clientId,
      { [openid.clockTolerance]: clockToleranceInSeconds },
      clientSecret === undefined ? openid.None() : authenticationBy(clientSecret),
      {
        timeout: timeoutInSeconds,
        [openid.customFetch]: boundedFetch,
        execute: [openid.enableNonRepudiationChecks, ...(isInsecure ? [openid.allowInsecureRequests] : [])],
      },
    );
    const metadata = configuration.serverMetadata();
    const addresses = [metadata.authorization_endpoint, metadata.token_endpoint, metadata.jwks_uri];
    if (metadata.issuer !== issuer)
      throw new SignInFailure("unavailable", "the provider writes its issuer in another way than the settings");
    if (!addresses.every(isAllowed)) throw new SignInFailure("unavailable", "an address is missing, or has no https");
    if (!Array.isArray(metadata.token_endpoint_auth_methods_supported ?? []))
      throw new SignInFailure("unavailable", "the methods of authentication are no list");
    return configuration;
  } catch (error) {
    throw new SignInFailure("unavailable", `discovery failed: ${failureOf(error).message}`);
  }
}

const isAllowed = (address: string | undefined) =>
  isInsecure ? URL.canParse(address ?? "") : URL.parse(address ?? "")?.protocol === "https:";

/**
 * Sends the credentials in the header if the provider supports that, otherwise in the body (RFC 6749, 2.3.1).
 * openid-client also encodes hyphens, dots and underscores, which Google does not decode.
 */
function authenticationBy(secret: string): openid.ClientAuth {
  const post = openid.ClientSecretPost(secret);
  return (provider, client, body, headers) => {
    const { token_endpoint_auth_methods_supported: methods = ["client_secret_basic"] } = provider;
    if (!methods.includes("client_secret_basic")) return post(provider, client, body, headers);
    const encoded = [client.client_id, secret].map((each) => encodeURIComponent(each).replaceAll("%20", "+"));
    headers.set("Authorization", `Basic ${btoa(encoded.join(":"))}`);
  };
}

/**
 * `fetch` with a limit for the response. Each request opens a connection, because a connection that a frozen environment
 * kept is dead, and a code must not be sent twice.
 */
const boundedFetch: openid.CustomFetch = async (url, { headers, ...options }) => {
  const response = await fetch(url, { ...options, headers: { ...headers, connection: "close" } } as RequestInit);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > responseBytesMax) throw new SignInFailure("unavailable", "the response is too long");
    chunks.push(chunk);
  }
  const { status, statusText } = response;
  const kept = new Headers(response.headers);
  // It comes with `invalid_client` (RFC 6749, 5.2), and would keep openid-client from reading the error in the body.
  kept.delete("WWW-Authenticate");
  return new Response(bytes > 0 ? Buffer.concat(chunks) : null, { status, statusText, headers: kept });
};

/**
 * Exchanges the code in the callback's URL for an ID token, and verifies both: state and issuer of the URL; signature,
 * issuer, audience, nonce and times of the token. Anybody can write the URL, so an error in it is no failure of the
 * provider.
 * @param clientSecretArn the client's secret, which only the callback may read
 * @param claim fails if this attempt has requested tokens before
 * @returns the identity that the provider has confirmed, with its e-mail address if the provider has verified that
 * @throws {SignInFailure}
 */
export async function identify(
  address: URL,
  attempt: Attempt,
  clientSecretArn: string,
  claim: () => Promise<void>,
  deadline: number,
) {
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

/** Codes of openid-client for a wrong callback URL or ID token. */
const invalidities = new Set([
  "OAUTH_INVALID_RESPONSE",
  "OAUTH_JWT_CLAIM_COMPARISON_FAILED",
  "OAUTH_JWT_TIMESTAMP_CHECK_FAILED",
  "OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED",
  "OAUTH_KEY_SELECTION_FAILED",
  "OAUTH_UNSUPPORTED_OPERATION",
]);

/** The failure by the code of openid-client or of a broken connection. */
function failureOf(error: unknown): SignInFailure {
  for (let each = error; each instanceof Error; each = each.cause) if (each instanceof SignInFailure) return each;
  const code = error instanceof Error && "code" in error ? String(error.code) : "something unexpected";
  const refusal = error instanceof openid.ResponseBodyError && clientRefusals.has(error.error) ? ` ${error.error}` : "";
  const isInvalid = invalidities.has(code) && !(code === "OAUTH_INVALID_RESPONSE" && isAboutBody(error));
  return new SignInFailure(isInvalid ? "invalid" : "unavailable", code + refusal);
}

/** A malformed response of the provider has the same code as a malformed ID token; only the cause differs. */
const isAboutBody = (error: unknown): boolean =>
  error instanceof Error && error.cause instanceof Object && ("body" in error.cause || isAboutBody(error.cause));

/** Errors of the token endpoint that a setting causes (RFC 6749, 5.2), for the log. Others may contain anything. */
const clientRefusals = new Set(["invalid_client", "unauthorized_client", "invalid_scope", "unsupported_grant_type"]);
