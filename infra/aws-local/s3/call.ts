import type { IncomingMessage } from "node:http";
import type { Bucket } from "./bucket.ts";

/** A request of S3. */
export interface Call {
  readonly buckets: ReadonlyMap<string, Bucket>;
  readonly bucket: Bucket;
  readonly name: string;
  readonly key: string;
  readonly method: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

/** A response; a text is XML. */
export interface Response {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | string;
}

/** An error of S3 ("Error responses" in the S3 API reference). */
export class S3Error extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export const notImplemented = () =>
  new S3Error(501, "NotImplemented", "A header you provided implies functionality that is not implemented");

export const noSuchBucket = () => new S3Error(404, "NoSuchBucket", "The specified bucket does not exist");

export const malformed = () =>
  new S3Error(400, "MalformedXML", "The XML you provided did not validate against our published schema");
