import sql from "sql-template-tag";
import { callOnce, change, type Outcome } from "./change.ts";
import { inReleaseSchema } from "./release.ts";

/** An attempt to sign in that has come back from the provider of OpenID Connect. */
export interface SignIn {
  readonly issuer: string;
  readonly subject: string;
  /** Only an address that the provider has verified. */
  readonly email: string | null;
  /** When the attempt began, by `Date.now()`. */
  readonly startedAt: number;
  /** SHA-256 of the new session's token, hexadecimal. */
  readonly digest: string;
  /** How long the session lasts. */
  readonly days: number;
  /** Stands for this attempt, which opens one session, however often it comes back. */
  readonly key: string;
  /** For the ledger: API Gateway's id of the request. */
  readonly id: string;
}

/** Claims an attempt for the session that it may open, before the callback requests tokens. 409: another request has done so. */
export const claimAttempt = (request: Pick<SignIn, "digest" | "key" | "id">, deadline: number): Promise<Outcome> =>
  makeSignIn(request, deadline);

/**
 * Opens a session for the user whom an identity belongs to. 403: it belongs to no user. 409: the attempt has opened a
 * session before. 401: the user has been logged out since the attempt began. All of these leave no trace.
 */
export const openSession = ({ key, id, digest, ...input }: SignIn, deadline: number): Promise<Outcome> =>
  makeSignIn({ key, id, digest, input: { ...input, startedAt: new Date(input.startedAt).toISOString() } }, deadline);

const makeSignIn = (request: object, deadline: number): Promise<Outcome> =>
  callOnce((input) => sql`${inReleaseSchema("make_sign_in")}(${input})`, request, deadline);

/** Ends the session of a token, which happens once. 401 if that has ended, or never was. */
export const closeSession = ({ digest, id }: Pick<SignIn, "digest" | "id">, deadline: number): Promise<Outcome> =>
  change("sign_out", { digest, userMissing: 401 }, { key: digest, id, endpoint: "sign-out", input: {} }, deadline);
