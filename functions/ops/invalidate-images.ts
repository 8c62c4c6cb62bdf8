import { createHash } from "node:crypto";
import type { Context, SQSBatchResponse } from "aws-lambda";
import * as z from "zod/mini";
import { writeLog } from "../../lib/aws/log.ts";
import { deadlineOf } from "../../lib/aws/retry.ts";
import { invalidate } from "../../lib/operators/edge.ts";
import { payloadOf } from "../../lib/operators/payloads.ts";

/** An event of S3 about a deleted object (S3, "EventBridge event message structure"). */
const eventSchema = z.object({ detail: z.object({ object: z.object({ key: z.string().check(z.minLength(1)) }) }) });

/**
 * Invalidates removed images in the CDN, which would cache them for a year. When CloudFront accepts nothing, mostly for
 * too many invalidations at once, the function fails, and the queue delivers the messages again. Without a CDN there is
 * nothing to invalidate. Messages without an object fail one by one, and do not delay the others.
 */
export async function handler(batch: unknown, context: Context): Promise<SQSBatchResponse> {
  const messages = payloadOf("ops/invalidate-images", batch).Records.map(({ messageId, body }) => ({
    messageId,
    key: keyIn(body),
  }));
  const paths = pathsOf(messages.flatMap(({ key }) => key ?? []));
  const DistributionId = process.env.IMAGE_DISTRIBUTION;
  if (DistributionId && paths.length > 0) {
    const reference = digestOf(messages.map(({ messageId }) => messageId));
    await invalidate(DistributionId, paths, deadlineOf(context), reference);
    writeLog("info", { requestId: context.awsRequestId, endpoint: "ops-invalidate-images", paths });
  }
  const invalid = messages.filter(({ key }) => key === undefined);
  return { batchItemFailures: invalid.map(({ messageId }) => ({ itemIdentifier: messageId })) };
}

function keyIn(body: string): string | undefined {
  try {
    return eventSchema.parse(JSON.parse(body)).detail.object.key;
  } catch {
    return undefined;
  }
}

/** Of fifty images. More are invalidated with all of their folders, since each path is paid for. */
const pathsMax = 100;

function pathsOf(keys: readonly string[]): string[] {
  const paths = new Set(keys.map(pathOf));
  return [...(paths.size > pathsMax ? new Set([...paths].map((path) => path.replace(/[^/]+$/, "*"))) : paths)].sort();
}

/** The path of an object's URL. A star is escaped, since CloudFront would take it for a wildcard. */
const pathOf = (key: string): string => `/${key.split("/").map(encodeURIComponent).join("/").replaceAll("*", "%2A")}`;

/** The same messages have the same digest, so that CloudFront ignores a repeated request. */
const digestOf = (ids: string[]): string => createHash("sha256").update(ids.sort().join()).digest("hex");
