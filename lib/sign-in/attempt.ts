import { createHmac, hash, randomBytes, timingSafeEqual } from "node:crypto";
import { attemptSeconds } from "./cookies.ts";
import { clientId, issuer } from "./registration.ts";
import { readSecret } from "./secrets.ts";

/** The secret that signs attempts. */
const keyArn = process.env.SIGN_IN_KEY_ARN ?? "";

/** An attempt to sign in, between `/sign-in` and the callback. Only a cookie of its browser has it. */
export type Attempt = ReturnType<typeof attemptOf>;

interface Content {
  /** By `Date.now()`. */
  readonly startedAt: number;
  /** The path of the page to come back to; empty for the panel itself. */
  readonly to: string;
}

export async function newAttempt(to: string, deadline: number): Promise<Attempt> {
  const id = randomBytes(16).toString("base64url");
  const startedAt = Date.now();
  const text = Buffer.from(JSON.stringify({ id, startedAt, to })).toString("base64url");
  return attemptOf(text, { startedAt, to }, await signer(deadline));
}

/** The attempt in a cookie; undefined if this service has not signed it for this provider, or if it is too old. */
export async function attemptIn(cookie: string, deadline: number): Promise<Attempt | undefined> {
  const [text, signature] = cookie.split(".");
  if (!text || !signature) return undefined;
  const sign = await signer(deadline);
  if (!isEqual(signature, sign("cookie", text))) return undefined;
  const content: Content = JSON.parse(Buffer.from(text, "base64url").toString());
  return Date.now() - content.startedAt < 1_000 * attemptSeconds ? attemptOf(text, content, sign) : undefined;
}

type Sign = (purpose: string, text: string) => string;

/** State, nonce and verifier are HMACs of the signed text, so the cookie does not contain them. */
const attemptOf = (text: string, { startedAt, to }: Content, sign: Sign) => ({
  /** The cookie's value: id, time, `to` and a signature. */
  cookie: `${text}.${sign("cookie", text)}`,
  startedAt,
  to,
  /** What the callback's URL and the ID token must have, and what proves that the code is ours. */
  state: sign("state", text),
  nonce: sign("nonce", text),
  codeVerifier: sign("code verifier", text),
});

/** The signature includes provider and client, so attempts of another stage are not valid here. */
async function signer(deadline: number): Promise<Sign> {
  const key = await readSecret(keyArn, deadline);
  return (purpose, text) =>
    createHmac("sha256", key)
      .update(JSON.stringify([purpose, issuer, clientId, text]))
      .digest("base64url");
}

/** Hashes have the same length, whatever the cookie has. */
const isEqual = (one: string, other: string): boolean =>
  timingSafeEqual(hash("sha256", one, "buffer"), hash("sha256", other, "buffer"));
