import { hash, randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { ServiceError } from "../http/service-error.ts";
import type { Bucket, Part, Upload } from "./bucket.ts";
import { type Call, malformed, type Response } from "./call.ts";
import { newHeaders, versionHeaders } from "./objects.ts";
import { contentsOf, element, textOf } from "./xml.ts";

/** Of all parts but the last. */
const partBytesMin = 5 * 1_048_576;

export async function createMultipartUpload({ bucket, name, key, headers }: Call): Promise<Response> {
  const UploadId = randomUUID();
  bucket.uploads.set(UploadId, { key, headers: newHeaders(headers, ""), parts: new Map() });
  return { status: 200, body: element("InitiateMultipartUploadResult", { Bucket: name, Key: key, UploadId }) };
}

export async function uploadPart(call: Call): Promise<Response> {
  const { bucket, query, body } = call;
  const { parts } = uploadOf(call);
  const number = Number(query.get("partNumber"));
  const etag = `"${hash("md5", body)}"`;
  const file = await bucket.writeDraft({ etag }, body);
  const replaced = parts.get(number);
  parts.set(number, { file, etag, size: body.length });
  if (replaced) await rm(replaced.file);
  return { status: 200, headers: { etag } };
}

export async function completeMultipartUpload(call: Call): Promise<Response> {
  const { bucket, name, key, query, body } = call;
  const upload = uploadOf(call);
  const parts = partsOf(upload, body.toString());
  const digests = parts.map(({ etag }) => Buffer.from(etag.slice(1, -1), "hex"));
  const ETag = `"${hash("md5", Buffer.concat(digests))}-${parts.length}"`;
  bucket.uploads.delete(query.get("uploadId") ?? "");
  const version = await bucket.put(key, newHeaders(upload.headers, ETag), bodiesOf(bucket, parts));
  await drop(upload);
  return {
    status: 200,
    headers: versionHeaders(version),
    body: element("CompleteMultipartUploadResult", { Bucket: name, Key: key, ETag }),
  };
}

export async function abortMultipartUpload(call: Call): Promise<Response> {
  const upload = uploadOf(call);
  call.bucket.uploads.delete(call.query.get("uploadId") ?? "");
  await drop(upload);
  return { status: 204 };
}

function uploadOf({ bucket, key, query }: Call): Upload {
  const upload = bucket.uploads.get(query.get("uploadId") ?? "");
  if (upload?.key === key) return upload;
  throw new ServiceError(
    404,
    "NoSuchUpload",
    "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed.",
  );
}

/** @throws {ServiceError} when the list names a part that was not uploaded, or one that is too small */
function partsOf({ parts }: Upload, xml: string): Part[] {
  const listed = contentsOf("Part", xml);
  if (listed.length === 0) throw malformed();
  const found = listed.map((each) => {
    const part = parts.get(Number(textOf("PartNumber", each)));
    if (part?.etag === `"${textOf("ETag", each)?.replaceAll('"', "")}"`) return part;
    throw new ServiceError(
      400,
      "InvalidPart",
      "One or more of the specified parts could not be found. The part may not have been uploaded, or the specified entity tag may not match the part's entity tag.",
    );
  });
  if (found.slice(0, -1).some(({ size }) => size < partBytesMin))
    throw new ServiceError(400, "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size");
  return found;
}

async function* bodiesOf(bucket: Bucket, parts: readonly Part[]): AsyncGenerator<Buffer> {
  for (const { file } of parts) {
    await using part = await bucket.openDraft(file);
    if (part) yield await part.read(0, part.size);
  }
}

async function drop({ parts }: Upload): Promise<void> {
  for (const { file } of parts.values()) await rm(file);
}
