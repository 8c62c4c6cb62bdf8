import * as openid from "openid-client";
import { SignInFailure } from "./failure.ts";

/** The provider, as it names itself. */
export const issuer = process.env.SIGN_IN_ISSUER ?? "";
/** By which it knows this stage. */
export const clientId = process.env.SIGN_IN_CLIENT_ID ?? "";

/** How long an answer of the provider may take. A sign-in waits for four at most. */
const timeoutInSeconds = 4;
const answerBytesMax = 1_000_000;
/** Clocks may differ by two minutes, and a sign-in takes a while. */
const clockToleranceInSeconds = 150;

/** Only on one machine the provider has no https; the settings of a stage demand it. */
const isInsecure = issuer.startsWith("http:");

/** What this environment knows of the provider: its addresses, and by openid-client its keys for five minutes. */
let found: openid.Configuration | undefined;
let secretOfFound: string | undefined;
let knownUntil = 0;
const knownMilliseconds = 60 * 60_000;
/** How long it is not asked again, if it does not answer then. */
const pauseMilliseconds = 60_000;

/**
 * The provider. It is asked for its addresses once an hour; the former ones count as long as it does not answer.
 * @throws {SignInFailure} when it has never answered, or talked nonsense
 */
export async function findProvider(clientSecret?: string): Promise<openid.Configuration> {
  if (found && clientSecret === secretOfFound && Date.now() < knownUntil) return found;
  try {
    found = await discover(clientSecret);
    knownUntil = Date.now() + knownMilliseconds;
  } catch (error) {
    if (!found || clientSecret !== secretOfFound) throw error;
    knownUntil = Date.now() + pauseMilliseconds;
  }
  secretOfFound = clientSecret;
  return found;
}

/** The next sign-in asks the provider again. */
export function forgetProvider(): void {
  knownUntil = 0;
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
 * In the header if the provider takes it there, otherwise in the body. As openid-client does it (RFC 6749, 2.3.1), but for
 * what form-encoding may leave as it is: Google does not decode the hyphens, dots and underscores of its clients.
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
 * `fetch` for answers that are not endless. Each request has a connection of its own, since one that a frozen environment
 * kept would be dead, and the request for a token must not be sent twice.
 */
const boundedFetch: openid.CustomFetch = async (url, { headers, ...options }) => {
  const response = await fetch(url, { ...options, headers: { ...headers, connection: "close" } } as RequestInit);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > answerBytesMax) throw new SignInFailure("unavailable", "the answer is too long");
    chunks.push(chunk);
  }
  const { status, statusText } = response;
  const answered = new Headers(response.headers);
  // It comes with `invalid_client` (RFC 6749, 5.2), and openid-client would not read the error in the body.
  answered.delete("WWW-Authenticate");
  return new Response(bytes > 0 ? Buffer.concat(chunks) : null, { status, statusText, headers: answered });
};

/** Codes of openid-client for what comes back from the browser, or is in an ID token, and is not as it should be. */
const invalidities = new Set([
  "OAUTH_INVALID_RESPONSE",
  "OAUTH_JWT_CLAIM_COMPARISON_FAILED",
  "OAUTH_JWT_TIMESTAMP_CHECK_FAILED",
  "OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED",
  "OAUTH_KEY_SELECTION_FAILED",
  "OAUTH_UNSUPPORTED_OPERATION",
]);

/** What the provider's part of a sign-in ends with, by the code of openid-client or of a broken connection. */
export function failureOf(error: unknown): SignInFailure {
  for (let each = error; each instanceof Error; each = each.cause) if (each instanceof SignInFailure) return each;
  const code = error instanceof Error && "code" in error ? String(error.code) : "something unexpected";
  const refusal = error instanceof openid.ResponseBodyError && clientRefusals.has(error.error) ? ` ${error.error}` : "";
  const isInvalid = invalidities.has(code) && !(code === "OAUTH_INVALID_RESPONSE" && isAboutBody(error));
  return new SignInFailure(isInvalid ? "invalid" : "unavailable", code + refusal);
}

/** A response of the provider that makes no sense has the same code as an ID token that does not; its cause tells. */
const isAboutBody = (error: unknown): boolean =>
  error instanceof Error && error.cause instanceof Object && ("body" in error.cause || isAboutBody(error.cause));

/** Errors of the token endpoint that a setting causes (RFC 6749, 5.2). Others may be anything. */
const clientRefusals = new Set(["invalid_client", "unauthorized_client", "invalid_scope", "unsupported_grant_type"]);
