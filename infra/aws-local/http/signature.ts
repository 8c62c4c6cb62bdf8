import { createHmac, createSecretKey, hash, type KeyObject, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** The key that clients sign with, and that Data API, S3 and Lambda's Invoke API check. It is new at each start. */
export interface Key {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export const newKey = (): Key => ({
  accessKeyId: `LOCAL${randomBytes(8).toString("hex").toUpperCase()}`,
  secretAccessKey: randomBytes(32).toString("base64url"),
});

export type Service = "rds-data" | "s3" | "lambda" | "secretsmanager";

/** What is wrong with a signature. */
export type SignatureError = "missing" | "scope" | "key" | "time" | "signature" | "body";

const form =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8}\/[^/,]+\/([^/,]+)\/aws4_request), ?SignedHeaders=([\w;-]+), ?Signature=([0-9a-f]{64})$/;
const ageInMillisecondsMax = 15 * 60_000;

/** Checks a request's signature as AWS does (IAM User Guide, "Create a signed AWS API request"): by signing it again. */
export function verifier(
  service: Service,
  key: Key,
): (request: IncomingMessage, body: Buffer) => SignatureError | undefined {
  const sign = signer(service, key);
  return ({ method = "", url = "", headers }, body) => {
    if (headers.authorization === undefined) return "missing";
    const [, id, scope = "", scoped, names = "", signature = ""] = form.exec(headers.authorization) ?? [];
    if (scoped !== service) return "scope";
    if (id !== key.accessKeyId) return "key";
    const time = `${headers["x-amz-date"]}`;
    const signedAt = Date.parse(time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
    // An invalid date gives NaN, for which every comparison is false.
    const isCurrent = Math.abs(Date.now() - signedAt) <= ageInMillisecondsMax && time.startsWith(scope.slice(0, 8));
    if (!isCurrent) return "time";
    const bodyHash = hash("sha256", body);
    // Not all clients send their body's hash.
    const { "x-amz-content-sha256": named = bodyHash } = headers;
    const signed = names.split(";").map((name): Header => [name, `${headers[name] ?? ""}`]);
    const expected = sign({ method, url, headers: signed, bodyHash: `${named}`, time, scope });
    const isHostSigned = signed.some(([name]) => name === "host");
    if (!isHostSigned || !timingSafeEqual(Buffer.from(expected), Buffer.from(signature))) return "signature";
    return named === bodyHash ? undefined : "body";
  };
}

/** Returns the headers that sign a request. */
export function signRequest(
  service: Service,
  key: Key,
  { host, pathname, search }: Pick<URL, "host" | "pathname" | "search">,
  method = "GET",
  body: Buffer = Buffer.alloc(0),
): Record<string, string> {
  const time = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, "");
  const bodyHash = hash("sha256", body);
  const scope = `${time.slice(0, 8)}/eu-central-1/${service}/aws4_request`;
  const own = { "x-amz-content-sha256": bodyHash, "x-amz-date": time };
  const headers: Header[] = Object.entries({ host, ...own });
  const signature = signer(service, key)({ method, url: pathname + search, headers, bodyHash, time, scope });
  const names = headers.map(([name]) => name).join(";");
  const authorization = `AWS4-HMAC-SHA256 Credential=${key.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
  return { ...own, authorization };
}

type Header = readonly [name: string, value: string];

interface Signable {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  /** Those that are signed, sorted by their names. */
  readonly headers: readonly Header[];
  readonly bodyHash: string;
  readonly time: string;
  /** Day, region, service and `aws4_request`. */
  readonly scope: string;
}

/** Calculates signatures. The derived key of a day is kept. */
function signer(service: Service, { secretAccessKey }: Key): (request: Signable) => string {
  let derived: { readonly scope: string; readonly key: KeyObject } | undefined;
  const keyOf = (scope: string) => {
    if (derived?.scope !== scope) {
      const bytes = scope.split("/").reduce<Buffer>(hmac, Buffer.from(`AWS4${secretAccessKey}`));
      derived = { scope, key: createSecretKey(bytes) };
    }
    return derived.key;
  };
  return ({ method, url, headers, bodyHash, time, scope }) => {
    const [path = "", query] = url.split(/\?(.*)/s);
    const canonical = [
      method,
      // S3 alone takes paths as they are sent; other services escape them once more.
      service === "s3" ? path : escaped(path).replaceAll("%2F", "/"),
      query ? canonicalQuery(query) : "",
      ...headers.map(([name, value]) => `${name}:${value.trim().replaceAll(/\s+/g, " ")}`),
      "",
      headers.map(([name]) => name).join(";"),
      bodyHash,
    ].join("\n");
    const text = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${hash("sha256", canonical)}`;
    return createHmac("sha256", keyOf(scope)).update(text).digest("hex");
  };
}

const hmac = (key: Buffer, text: string) => createHmac("sha256", key).update(text).digest();

const escaped = (text: string) =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);

/** Sorted by names, then by values: a blank comes before every other character. */
const canonicalQuery = (query: string) =>
  Array.from(new URLSearchParams(query), ([name, value]) => `${escaped(name)} ${escaped(value)}`)
    .sort()
    .join("&")
    .replaceAll(" ", "=");
