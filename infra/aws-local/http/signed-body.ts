import type { IncomingMessage } from "node:http";
import { isFromPage } from "./loopback.ts";
import { read } from "./request-body.ts";
import { ServiceError } from "./service-error.ts";
import { type Key, type Service, type SignatureError, verifier } from "./signature.ts";

const mismatch =
  "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key " +
  "and signing method. Consult the service documentation for details.";

/** The names of AWS's errors, which S3 has of its own, and their messages. Two of S3's have another status than 403. */
const errors: Readonly<
  Record<SignatureError | "page", readonly [name: string, s3: string, message: string, statusInS3?: number]>
> = {
  page: ["AccessDeniedException", "AccessDenied", "No web page may call this service"],
  missing: ["MissingAuthenticationTokenException", "AccessDenied", "Missing Authentication Token"],
  scope: [
    "InvalidSignatureException",
    "AuthorizationHeaderMalformed",
    "Credential should be scoped to this service.",
    400,
  ],
  key: ["UnrecognizedClientException", "InvalidAccessKeyId", "The security token included in the request is invalid."],
  time: ["InvalidSignatureException", "RequestTimeTooSkewed", "A signature is valid for 15 minutes."],
  signature: ["InvalidSignatureException", "SignatureDoesNotMatch", mismatch],
  body: ["InvalidSignatureException", "XAmzContentSHA256Mismatch", mismatch, 400],
};

/**
 * Reads the bodies of requests to a service, which must be signed with the key, and come from no web page.
 * @throws {ServiceError}
 */
export function bodyReader(service: Service, key: Key, ...tooLarge: ConstructorParameters<typeof ServiceError>) {
  const signatureErrorOf = verifier(service, key);
  return async (request: IncomingMessage, bytesMax: number): Promise<Buffer> => {
    const body = await read(request, bytesMax);
    if (!body) throw new ServiceError(...tooLarge);
    const error = isFromPage(request) ? "page" : signatureErrorOf(request, body);
    if (!error) return body;
    const [name, nameInS3, message, statusInS3 = 403] = errors[error];
    throw service === "s3" ? new ServiceError(statusInS3, nameInS3, message) : new ServiceError(403, name, message);
  };
}
