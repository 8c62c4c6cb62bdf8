import type { IncomingMessage } from "node:http";
import { ServiceError } from "../http/service-error.ts";
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

export const notImplemented = () =>
  new ServiceError(501, "NotImplemented", "A header you provided implies functionality that is not implemented");

export const noSuchBucket = () => new ServiceError(404, "NoSuchBucket", "The specified bucket does not exist");

export const malformed = () =>
  new ServiceError(400, "MalformedXML", "The XML you provided did not validate against our published schema");
