import type { Readable } from "node:stream";
import { S3Client } from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import { timeouts } from "../aws/retry.ts";

const client = new S3Client({ requestHandler: timeouts });

/** An object of S3, as `s3://bucket/key`. */
export const objectUrl = /^s3:\/\/([^/]+)\/(.+)$/;

/** Uploads a stream in parts, so that nothing is there before all of it is. After an error the parts are deleted. */
export async function upload(target: string, body: Readable): Promise<void> {
  const [, Bucket, Key] = objectUrl.exec(target) ?? [];
  const params = { Bucket, Key, Body: body, ContentType: "application/x-ndjson" };
  await new Upload({ client, params }).done();
}
