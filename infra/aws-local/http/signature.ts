import { createHmac, hash as hashOnce, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";

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
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/((\d{8})\/[^/,]+\/([^/,]+)\/aws4_request), ?SignedHeaders=([\w;-]+), ?Signature=([0-9a-f]{64})$/;
const ageInMillisecondsMax = 15 * 60_000;

/** Checks a request's signature as AWS does (IAM User Guide, "Create a signed AWS API request"). */
export function verifier(
  service: Service,
  key: Key,
): (request: IncomingMessage, body: Buffer) => SignatureError | undefined {
  const keyOf = signingKeys(key);
  return ({ method = "", url = "", headers }, body) => {
    if (headers.authorization === undefined) return "missing";
    const [, id, scope = "", day = "", scoped, list = "", given = ""] = form.exec(headers.authorization) ?? [];
    if (scoped !== service) return "scope";
    if (id !== key.accessKeyId) return "key";
    const date = `${headers["x-amz-date"]}`;
    // An invalid date gives NaN, for which every comparison is false.
    if (!(Math.abs(Date.now() - timeOf(date)) <= ageInMillisecondsMax && date.startsWith(day))) return "time";
    const names = list.split(";");
    const hash = sha256(body);
    const signedHash = `${headers["x-amz-content-sha256"] ?? hash}`;
    const expected = signatureOf({ method, url, headers, names, hash: signedHash, date, scope }, keyOf(scope));
    if (!names.includes("host") || !timingSafeEqual(expected, Buffer.from(given, "hex"))) return "signature";
    return signedHash === hash ? undefined : "body";
  };
}

type SignedUrl = Pick<URL, "host" | "pathname" | "search">;

/** The headers that a request needs to be signed. */
export function signatureHeaders(
  service: Service,
  key: Key,
  url: SignedUrl,
  method = "GET",
  body: Buffer = Buffer.alloc(0),
) {
  const date = new Date().toISOString().replace(/[-:]|\.\d+/g, "");
  const scope = `${date.slice(0, 8)}/eu-central-1/${service}/aws4_request`;
  const hash = sha256(body);
  const headers = { "x-amz-content-sha256": hash, "x-amz-date": date };
  const names = ["host", ...Object.keys(headers)];
  const sent = { method, url: `${url.pathname}${url.search}`, headers: { host: url.host, ...headers } };
  const signature = signatureOf({ ...sent, names, hash, date, scope }, signingKeys(key)(scope)).toString("hex");
  const credential = `${key.accessKeyId}/${scope}`;
  return {
    ...headers,
    authorization: `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names.join(";")}, Signature=${signature}`,
  };
}

const sha256 = (data: string | Buffer) => hashOnce("sha256", data);

const hmac = (key: Buffer, text: string) => createHmac("sha256", key).update(text).digest();

/** The key of a scope (day, region and service). Nearly all requests have the same scope, so the latest key is kept. */
function signingKeys({ secretAccessKey }: Key): (scope: string) => Buffer {
  let latest = { scope: "", key: Buffer.alloc(0) };
  return (scope) => {
    if (latest.scope !== scope)
      latest = { scope, key: scope.split("/").reduce(hmac, Buffer.from(`AWS4${secretAccessKey}`)) };
    return latest.key;
  };
}

interface Signed {
  readonly method: string;
  /** As it was sent, which is right for S3; other services escape paths, but the Data API's have nothing to escape. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly names: readonly string[];
  readonly hash: string;
  readonly date: string;
  readonly scope: string;
}

function signatureOf({ method, url, headers, names, hash, date, scope }: Signed, key: Buffer): Buffer {
  const [path, query = ""] = url.split(/\?(.*)/s);
  const pairs = query.split("&").filter((pair) => pair !== "");
  const search = pairs.map((pair) => (pair.includes("=") ? pair : `${pair}=`)).sort();
  const lines = names.map((name) => `${name}:${`${headers[name] ?? ""}`.trim().replace(/ +/g, " ")}\n`);
  const canonical = [method, path, search.join("&"), lines.join(""), names.join(";"), hash].join("\n");
  return hmac(key, `AWS4-HMAC-SHA256\n${date}\n${scope}\n${sha256(canonical)}`);
}

/** `20261121T221500Z` */
const timeOf = (text: string) =>
  Date.parse(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
