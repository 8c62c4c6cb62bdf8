import { GetObjectCommand, ListObjectVersionsCommand, S3Client } from "@aws-sdk/client-s3";
import { transferBucket } from "../../infra/local/stage/functions.ts";
import { type CatalogueLine, parseLine } from "../../lib/operators/catalogue-lines.ts";
import { key } from "./environment.ts";
import { operate } from "./operate.ts";
import type { Stack } from "./stack.ts";

export interface Exported {
  readonly target: string;
  readonly lines: Readonly<Record<string, number>>;
  readonly skipped: number;
  readonly bytes: number;
}

/** S3 of a stack with uploads. */
export const s3Of = ({ s3 }: Pick<Stack, "s3">): S3Client =>
  new S3Client({ endpoint: s3?.url ?? "", credentials: key, forcePathStyle: true });

export const exportFrom = (stack: Pick<Stack, "lambda">, payload: object = {}): Promise<Exported> =>
  operate(stack, "ops-export", payload);

export async function exportedText(stack: Stack, { target }: Exported): Promise<string> {
  const Key = target.split("/").slice(3).join("/");
  const { Body } = await s3Of(stack).send(new GetObjectCommand({ Bucket: transferBucket, Key }));
  return (await Body?.transformToString()) ?? "";
}

/** The keys of all files. */
export async function transferKeys(stack: Stack): Promise<readonly (string | undefined)[]> {
  const { Versions = [] } = await s3Of(stack).send(new ListObjectVersionsCommand({ Bucket: transferBucket }));
  return Versions.filter(({ IsLatest }) => IsLatest).map(({ Key }) => Key);
}

/**
 * The lines of a file.
 * @throws if an import would refuse one
 */
export const linesOf = (text: string): readonly CatalogueLine[] =>
  text.split(/(?<=\n)/).map((each) => {
    const line = parseLine(each.slice(0, -1));
    if ("reason" in line) throw new Error(`${line.field} ${line.reason} in ${each}`);
    return line;
  });

/** What a line calls its record; nothing calls a relation. */
export function recordOf(line: CatalogueLine): string | undefined {
  if (line.kind === "client") return `client ${line.id}`;
  return "externalId" in line ? `${line.kind} ${line.externalId}` : undefined;
}
