import { GetObjectCommand, ListObjectVersionsCommand } from "@aws-sdk/client-s3";
import { expect } from "vitest";
import { imageBucket } from "../../infra/local/stage/functions.ts";
import { identifier, values } from "./database.ts";
import { s3Of } from "./exports.ts";
import { invoke } from "./invoke.ts";
import { type Stack, type StackOptions, startStack, useStarted } from "./stack.ts";

/** A stack with a file service, and access to its bucket. */
export type UploadStack = Awaited<ReturnType<typeof startUploads>>;

/** A stack with a file service for the tests of a file. */
export const useUploads = (options?: StackOptions): UploadStack => useStarted(() => startUploads(options));

export async function startUploads(options: StackOptions = {}) {
  const stack = await startStack({ ...options, uploads: true });
  const { s3 } = stack;
  if (!s3) throw new Error("The stack has no S3");
  const client = s3Of(stack);
  return {
    ...stack,
    s3,
    /** Keys of all objects, sorted. */
    async keys() {
      const { Versions = [] } = await client.send(new ListObjectVersionsCommand({ Bucket: imageBucket }));
      return Versions.filter(({ IsLatest }) => IsLatest).map(({ Key = "" }) => Key);
    },
    async object(key: string) {
      const { Body, ContentType, CacheControl } = await client.send(
        new GetObjectCommand({ Bucket: imageBucket, Key: key }),
      );
      return { bytes: Buffer.from((await Body?.transformToByteArray()) ?? []), type: ContentType, cache: CacheControl };
    },
    /** Runs the scheduled removal. */
    sweep: () => invoke<{ removed: number; kept: number }>(stack, "ops-remove-images", {}),
  };
}

/**
 * Removes all images that are listed for removal, and checks that the bucket then contains exactly the images that
 * records refer to.
 */
export async function expectAgreement(stack: UploadStack): Promise<void> {
  await stack.sql`update images_to_remove set remove_after = now()`;
  await stack.sweep();
  expect(await stack.keys()).toEqual((await referredKeys(stack)).flatMap(pairOf).sort());
  expect(await notedKeys(stack)).toEqual([]);
}

/** The keys that records refer to. */
const referredKeys = ({ sql }: Stack): Promise<string[]> =>
  values(sql`
    select image from users where image is not null union select image from contributors where image is not null
  `);

export const notedKeys = ({ sql }: Stack): Promise<string[]> =>
  values(sql`select key from images_to_remove order by key`);

/** Both objects of an image; none where there is none. */
export const pairOf = (key: string | null): string[] => (key ? [key, key.replace(".webp", "-256.webp")] : []);

/** The key that a record refers to. */
export const imageOf = async ({ sql }: Stack, table: "users" | "contributors", record: { id: number }) =>
  (await sql<{ image: string | null }[]>`select image from ${identifier(table)} where id = ${record.id}`)[0]?.image ??
  null;
