import * as openid from "openid-client";
import { SignInFailure } from "./failure.ts";

/** The provider, as it names itself. */
export const issuer = process.env.SIGN_IN_ISSUER ?? "";
/** By which it knows this stage. */
export const clientId = process.env.SIGN_IN_CLIENT_ID ?? "";

/** How long an answer of the provider may take. A sign-in waits for four at most. */
const timeoutInSeconds = 4;
const answerBytesMax = 1_000_000;

/** Only on one machine the provider has no https; the settings of a stage demand it. */
const isInsecure = issuer.startsWith("http:");

/** What the provider says about itself, as this environment has heard it last. It is asked again when this time is over. */
let found: openid.ServerMetadata | undefined;
let believedUntil = 0;
const believedMilliseconds = 60 * 60_000;
/** How long it is left alone, if it does not answer then. */
const spareMilliseconds = 60_000;
/** The provider's keys, as this environment has fetched them last. */
let keys: openid.ExportedJWKSCache["jwks"] | undefined;
/** Until when an unknown key is not asked for, in milliseconds: so long after that was in vain. */
let restsUntil = 0;
const restMilliseconds = 5_000;

/**
 * What the provider says about itself. It is asked once an hour, and again after a failure; its keys, too, which it may
 * have withdrawn. What is known counts on as long as it does not answer.
 * @throws {SignInFailure} when it has never answered, or talked nonsense
 */
export async function findProvider(): Promise<openid.ServerMetadata> {
  if (found && Date.now() < believedUntil) return found;
  try {
    found = await discover();
    keys = undefined;
    believedUntil = Date.now() + believedMilliseconds;
  } catch (error) {
    if (!found) throw error;
    believedUntil = Date.now() + spareMilliseconds;
  }
  return found;
}

/** Has the provider asked again: it, or a key under its former name, may have changed. */
export function forgetProvider(): void {
  found = undefined;
  keys = undefined;
}

async function discover(): Promise<openid.ServerMetadata> {
  try {
    const metadata = (
      await openid.discovery(new URL(issuer), clientId, undefined, openid.None(), {
        timeout: timeoutInSeconds,
        [openid.customFetch]: boundedFetch,
        execute: isInsecure ? [openid.allowInsecureRequests] : [],
      })
    ).serverMetadata();
    const {
      authorization_endpoint,
      token_endpoint,
      jwks_uri,
      token_endpoint_auth_methods_supported: methods,
    } = metadata;
    const addresses = [authorization_endpoint, token_endpoint, jwks_uri];
    if (metadata.issuer !== issuer)
      throw new SignInFailure("unavailable", "the provider writes its issuer in another way than the settings");
    if (!addresses.every(isAllowed)) throw new SignInFailure("unavailable", "an address is missing, or has no https");
    if (!Array.isArray(methods ?? []))
      throw new SignInFailure("unavailable", "the methods of authentication are no list");
    return metadata;
  } catch (error) {
    throw new SignInFailure("unavailable", `discovery failed: ${reasonOf(error)}`);
  }
}

const isAllowed = (address: string | undefined) =>
  isInsecure ? URL.canParse(address ?? "") : URL.parse(address ?? "")?.protocol === "https:";

/**
 * openid-client believes keys for five minutes, and asks for an unknown one at once if they are older than a minute. So
 * it is told that they are two minutes old, or new while it shall not ask.
 */
function keysOf(now: number): openid.ExportedJWKSCache | undefined {
  const age = now < restsUntil ? 0 : 120;
  return keys && { jwks: keys, uat: Math.floor(now / 1_000) - age };
}

/** Keeps the keys that a sign-in has used, for the next ones. */
export function keepKeys(configuration: openid.Configuration): void {
  keys = openid.getJwksCache(configuration)?.jwks ?? keys;
}

/** Lets the provider rest: it has no such key. */
export function restFromKeys(): void {
  const now = Date.now();
  if (now >= restsUntil) restsUntil = now + restMilliseconds;
}

/** The provider for one sign-in, with the client's authentication and the keys that are known. */
export function configurationOf(metadata: openid.ServerMetadata, clientSecret?: string): openid.Configuration {
  const methods = metadata.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
  const authentication = methods.includes("client_secret_basic") ? clientSecretBasic : openid.ClientSecretPost;
  const client = { [openid.clockTolerance]: clockToleranceInSeconds };
  const configuration = new openid.Configuration(
    metadata,
    clientId,
    client,
    clientSecret === undefined ? openid.None() : authentication(clientSecret),
  );
  configuration.timeout = timeoutInSeconds;
  configuration[openid.customFetch] = boundedFetch;
  const known = keysOf(Date.now());
  if (known) openid.setJwksCache(configuration, known);
  if (isInsecure) openid.allowInsecureRequests(configuration);
  openid.enableNonRepudiationChecks(configuration);
  return configuration;
}

/**
 * As openid-client does it (RFC 6749, 2.3.1), but for what form-encoding may leave as it is: Google does not decode the
 * hyphens, dots and underscores of its clients, and would not know them.
 */
const clientSecretBasic =
  (secret: string): openid.ClientAuth =>
  (_provider, { client_id }, _body, headers) => {
    const encoded = [client_id, secret].map((each) => encodeURIComponent(each).replaceAll("%20", "+"));
    headers.set("Authorization", `Basic ${btoa(encoded.join(":"))}`);
  };

/** Clocks may differ by two minutes, and a sign-in takes a while. */
const clockToleranceInSeconds = 150;

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

/**
 * Why the provider's part failed: what openid-client says, whose messages are constant, or the code of a broken
 * connection. Nothing of it comes from a request, or from an answer.
 */
export function reasonOf(error: unknown): string {
  let reason = "something unexpected";
  for (let each = error; each instanceof Error; each = each.cause) {
    const code = "code" in each ? String(each.code) : "";
    if (code.startsWith("OAUTH_") || each instanceof SignInFailure) reason = each.message;
    else if (/^[A-Z][A-Z_\d]{2,60}$/.test(code)) reason = code;
  }
  return reason;
}
