import { createHash } from "node:crypto";
import { GetObjectCommand, HeadObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { deadlineFromNow, isFault, retry, timeouts } from "../../aws/retry.ts";
import { refusal } from "../refusal.ts";
import { otherFormat } from "./file-format.ts";

const client = new S3Client({ maxAttempts: 1, requestHandler: timeouts });

/** What a file is read by. */
const pieceBytes = 4 * 1024 * 1024;

/** A file to import. */
export interface Source {
  /** Names this very content: other content, even under the same key, is another import. */
  readonly name: string;
  readonly length: number;
  /**
   * The bytes from this one on.
   * @throws if the file begins as no lines of JSON do
   */
  readonly read: (position: number) => AsyncGenerator<Buffer>;
}

/**
 * Opens the file `s3://BUCKET/KEY`, or lines that were sent as they are.
 * @throws {Error} if there is no such file, or the text is neither
 */
export async function openSource(source: string): Promise<Source> {
  const [, bucket, key] = /^s3:\/\/([^/]+)\/(.+)$/s.exec(source) ?? [];
  if (bucket !== undefined && key !== undefined) return await openObject(bucket, key);
  expectLines(Buffer.from(source));
  if (!/^\s*\{/.test(source)) throw refusal("`source` is neither s3://BUCKET/KEY nor lines of JSON");
  return linesSource(Buffer.from(source));
}

function expectLines(beginning: Buffer): void {
  const reason = otherFormat(beginning);
  if (reason !== undefined) throw refusal(reason);
}

function linesSource(bytes: Buffer): Source {
  return {
    name: `sha256:${createHash("sha256").update(bytes).digest("hex")}`,
    length: bytes.length,
    async *read(position) {
      yield bytes.subarray(position);
    },
  };
}

async function openObject(Bucket: string, Key: string): Promise<Source> {
  const object = { Bucket, Key };
  const { ContentLength = 0, ETag } = await send((options) =>
    client.send(new HeadObjectCommand(object), options),
  ).catch((cause) => {
    throw refusal(`s3://${Bucket}/${Key} cannot be read: ${reasonOf(cause)}`, { cause });
  });
  return {
    name: `s3://${Bucket}/${Key} ${ETag}`,
    length: ContentLength,
    async *read(position) {
      for (let from = position; from < ContentLength; from += pieceBytes) {
        const Range = `bytes=${from}-${Math.min(from + pieceBytes, ContentLength) - 1}`;
        const piece = await send(async (options) => {
          const { Body } = await client.send(new GetObjectCommand({ ...object, Range, IfMatch: ETag }), options);
          return Buffer.from((await Body?.transformToByteArray()) ?? []);
        }).catch((cause) => {
          throw new Error(`s3://${Bucket}/${Key} cannot be read any more: ${reasonOf(cause)}`, { cause });
        });
        if (from === 0) expectLines(piece);
        yield piece;
      }
    },
  };
}

const send = <Output>(attempt: Parameters<typeof retry<Output>>[0]): Promise<Output> =>
  retry(attempt, isFault, deadlineFromNow());

/** The response to HEAD has no body, so its error has no name of its own. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === "PreconditionFailed") return "it has changed meanwhile; import it again";
  if (/^(?:NotFound|NoSuchKey|NoSuchBucket|403|Forbidden|AccessDenied)$/.test(error.name))
    return "there is no such object, or this function may not read it";
  return error.message;
}
