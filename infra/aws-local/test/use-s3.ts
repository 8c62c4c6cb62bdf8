import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll } from "vitest";
import { type Key, newKey } from "../http/signature.ts";
import type { BucketOptions } from "../s3/bucket.ts";
import { type S3, startS3 } from "./s3.ts";

/** An S3 for the tests of a file, and a client that has its key. */
export interface TestS3 {
  readonly key: Key;
  /** That of the start before is of no use after a restart. */
  readonly client: S3Client;
  readonly url: string;
  folder(bucket: string): string;
  clientOf(credentials: Key): S3Client;
  /** Closes it, and starts another one over the same folder. */
  restart(): Promise<void>;
}

export function useS3(buckets: readonly BucketOptions[]): TestS3 {
  const key = newKey();
  let directory: string;
  let s3: S3;
  let client: S3Client;
  const clientOf = (credentials: Key) =>
    new S3Client({ endpoint: s3.url, credentials, region: "eu-central-1", forcePathStyle: true, maxAttempts: 1 });
  const start = async () => {
    s3 = await startS3({ directory: join(directory, "s3"), buckets, key });
    client = clientOf(key);
  };
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "aws-local-s3-"));
    await start();
  });
  afterAll(async () => {
    await s3.close();
    await rm(directory, { recursive: true });
  });
  return {
    key,
    get client() {
      return client;
    },
    get url() {
      return s3.url;
    },
    folder: (bucket) => join(directory, "s3", bucket),
    clientOf,
    async restart() {
      await s3.close();
      await start();
    },
  };
}
