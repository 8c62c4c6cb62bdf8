import {
  createHash,
  createHmac,
  createSecretKey,
  type Hash,
  type Hmac,
  hash,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from "node:crypto";
import type { IncomingMessage } from "node:http";
import { SignatureV4 } from "@smithy/signature-v4";

/** The key that clients sign with, and that Data API, S3 and Lambda's Invoke API check. It is new at each start. */
export interface Key {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export const newKey = (): Key => ({
  accessKeyId: `LOCAL${randomBytes(8).toString("hex").toUpperCase()}`,
  secretAccessKey: randomBytes(32).toString("base64url"),
});

type Service = "rds-data" | "s3" | "lambda" | "secretsmanager";

/** What is wrong with a signature; each service answers it with an error of its own. */
export type SignatureError = "missing" | "scope" | "key" | "time" | "signature" | "body";

const mismatch: [string, string] = [
  "InvalidSignatureException",
  "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key " +
    "and signing method. Consult the service documentation for details.",
];

/** Name and message of the error that AWS answers with 403; S3 has other errors. */
export const signatureErrors = (service: Service): Readonly<Record<SignatureError, [string, string]>> => ({
  missing: ["MissingAuthenticationTokenException", "Missing Authentication Token"],
  scope: ["InvalidSignatureException", `Credential should be scoped to correct service: '${service}'.`],
  key: ["UnrecognizedClientException", "The security token included in the request is invalid."],
  time: ["InvalidSignatureException", "Signature expired or not yet current: it is valid for 15 minutes."],
  signature: mismatch,
  body: mismatch,
});

const form =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/,]+)\/([^/,]+)\/aws4_request, ?SignedHeaders=([\w;-]+), ?Signature=([0-9a-f]{64})$/;
const ageInMillisecondsMax = 15 * 60_000;

/** Checks a request's signature as AWS does (IAM User Guide, "Create a signed AWS API request"): by signing it again. */
export function verifier(
  service: Service,
  key: Key,
): (request: IncomingMessage, body: Buffer) => Promise<SignatureError | undefined> {
  // Not all clients send their body's hash.
  const signer = signerOf(service, key, { applyChecksum: false });
  return async ({ method = "", url = "", headers }, body) => {
    if (headers.authorization === undefined) return "missing";
    const [, id, day = "", signingRegion = "", scoped, list = "", given = ""] = form.exec(headers.authorization) ?? [];
    if (scoped !== service) return "scope";
    if (id !== key.accessKeyId) return "key";
    const date = `${headers["x-amz-date"]}`;
    const signingDate = new Date(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
    // An invalid date gives NaN, for which every comparison is false.
    if (!(Math.abs(Date.now() - signingDate.getTime()) <= ageInMillisecondsMax && date.startsWith(day))) return "time";
    const signableHeaders = new Set(list.split(";"));
    const signed = Object.fromEntries(Array.from(signableHeaders, (name) => [name, `${headers[name] ?? ""}`]));
    const again = await signer.sign(
      { ...partsOf(url), method, headers: signed, body },
      { signingDate, signingRegion, signableHeaders },
    );
    const expected = again.headers.authorization?.slice(-given.length) ?? "";
    if (!signableHeaders.has("host") || !timingSafeEqual(Buffer.from(expected), Buffer.from(given))) return "signature";
    const bodyHash = signed["x-amz-content-sha256"];
    return bodyHash === undefined || bodyHash === hash("sha256", body) ? undefined : "body";
  };
}

/** Returns the headers that sign a request. */
export async function signRequest(
  service: Service,
  key: Key,
  url: Pick<URL, "host" | "pathname" | "search">,
  method = "GET",
  body: Buffer = Buffer.alloc(0),
): Promise<Record<string, string>> {
  const request = { ...partsOf(`${url.pathname}${url.search}`), method, headers: { host: url.host }, body };
  const { host: _, ...headers } = (await signerOf(service, key).sign(request)).headers;
  return headers;
}

/** S3 alone takes paths as they are sent; other services escape them once more. */
const signerOf = (service: Service, credentials: Key, options = {}) =>
  new SignatureV4({
    ...options,
    service,
    credentials,
    region: "eu-central-1",
    sha256: Sha256,
    uriEscapePath: service !== "s3",
  });

type Secret = string | ArrayBuffer | ArrayBufferView;

/** By the bytes of a signing key, which the signer keeps. To make one takes the time of ten hashes. */
const keyObjects = new WeakMap<ArrayBuffer | ArrayBufferView, KeyObject>();

function keyOf(secret: Secret): string | KeyObject {
  if (typeof secret === "string") return secret;
  const bytes = ArrayBuffer.isView(secret) ? secret : new Uint8Array(secret);
  const made = keyObjects.get(secret) ?? createSecretKey(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  keyObjects.set(secret, made);
  return made;
}

/** What the signer hashes with, in place of the SDK's class, which makes a key object for each signature. */
class Sha256 {
  readonly #hash: Hash | Hmac;

  constructor(secret?: Secret) {
    this.#hash = secret === undefined ? createHash("sha256") : createHmac("sha256", keyOf(secret));
  }

  update(data: Uint8Array): void {
    this.#hash.update(data);
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }

  reset(): void {}
}

function partsOf(url: string) {
  const [path = "", search] = url.split(/\?(.*)/s);
  const query = Object.fromEntries(new URLSearchParams(search));
  return { protocol: "http:", hostname: "", path, query };
}
