import { GetObjectCommand, ListObjectVersionsCommand, S3Client } from "@aws-sdk/client-s3";
import { transferBucket } from "../../infra/local/stage/functions.ts";
import { key } from "./environment.ts";
import { operate } from "./operate.ts";
import type { Stack } from "./stack.ts";

/** S3 of a stack with uploads. */
export const s3Of = ({ s3 }: Pick<Stack, "s3">): S3Client =>
  new S3Client({ endpoint: s3?.url ?? "", credentials: key, forcePathStyle: true });

/** Exports, and returns the result with the text of the file. */
export async function exportFrom(stack: Stack, payload: object = {}) {
  const result = await operate(stack, "ops-export", payload);
  const Key = result.target.split("/").slice(3).join("/");
  const { Body } = await s3Of(stack).send(new GetObjectCommand({ Bucket: transferBucket, Key }));
  return { ...result, text: await Body?.transformToString() };
}

/** The keys of all files. */
export async function transferKeys(stack: Stack): Promise<readonly (string | undefined)[]> {
  const { Versions = [] } = await s3Of(stack).send(new ListObjectVersionsCommand({ Bucket: transferBucket }));
  return Versions.filter(({ IsLatest }) => IsLatest).map(({ Key }) => Key);
}

/** The lines of a file. */
export const linesOf = (text: string) =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
