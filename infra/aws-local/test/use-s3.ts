import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { S3 } from "@aws-sdk/client-s3";
import { afterAll, beforeAll } from "vitest";
import { newKey } from "../http/signature.ts";
import { type S3 as Server, startS3 } from "./s3.ts";

/** An S3 for the tests of a file, and a client that has its key. */
export function useS3(buckets: readonly string[], key = newKey()) {
  let directory: string;
  let s3: Server;
  let client: S3;
  const start = async () => {
    s3 = await startS3({ directory: join(directory, "s3"), buckets, key });
    const settings = { endpoint: s3.url, credentials: key, region: "eu-central-1" };
    client = new S3({ ...settings, forcePathStyle: true, maxAttempts: 1 });
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
    /** That of the start before is of no use after a restart. */
    get client() {
      return client;
    },
    get server() {
      return s3;
    },
    folder: (bucket: string) => join(directory, "s3", bucket),
    /** Closes it, and starts another one over the same folder. */
    async restart() {
      await s3.close();
      await start();
    },
  };
}
