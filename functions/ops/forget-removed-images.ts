import { createHash } from "node:crypto";
import { CloudFrontClient, CreateInvalidationCommand } from "@aws-sdk/client-cloudfront";
import type { Context, SQSBatchResponse } from "aws-lambda";
import * as z from "zod/mini";
import { timeouts } from "../../lib/retry.ts";

const client = new CloudFrontClient({ maxAttempts: 2, requestHandler: timeouts });

/** Messages of a queue, each with an event of S3: an object was deleted (S3, "EventBridge event message structure"). */
const batchSchema = z.object({ Records: z.array(z.object({ messageId: z.string(), body: z.string() })) });
const eventSchema = z.object({ detail: z.object({ object: z.object({ key: z.string().check(z.minLength(1)) }) }) });

/**
 * Has the CDN forget the images that were removed from the bucket, whose copies it would keep for a year. It fails when
 * CloudFront refuses, for having too much to forget already above all; then the queue brings the messages again.
 * Without a CDN, nobody keeps copies. Messages that tell of no object come back by themselves, and hold up no others.
 */
export async function handler(batch: unknown, context?: Context): Promise<SQSBatchResponse> {
  const told = batchSchema.parse(batch).Records.map(({ messageId, body }) => ({ messageId, key: keyIn(body) }));
  const paths = [...new Set(told.flatMap(({ key }) => (key === undefined ? [] : pathOf(key))))].sort();
  const DistributionId = process.env.IMAGE_DISTRIBUTION;
  if (DistributionId && paths.length > 0) {
    await invalidate(DistributionId, paths, digestOf(told.map(({ messageId }) => messageId)));
    const requestId = context?.awsRequestId;
    console.log(JSON.stringify({ level: "info", requestId, endpoint: "ops/forget-removed-images", paths }));
  }
  const unread = told.filter(({ key }) => key === undefined);
  return { batchItemFailures: unread.map(({ messageId }) => ({ itemIdentifier: messageId })) };
}

function keyIn(body: string): string | undefined {
  try {
    return eventSchema.parse(JSON.parse(body)).detail.object.key;
  } catch {
    return undefined;
  }
}

/** The path of an object's URL. A star would stand for everything that begins so. */
const pathOf = (key: string): string => `/${key.split("/").map(encodeURIComponent).join("/").replaceAll("*", "%2A")}`;

/** The same messages have the same, so that CloudFront does once what it is asked twice. */
const digestOf = (messages: string[]): string => createHash("sha256").update(messages.sort().join()).digest("hex");

async function invalidate(DistributionId: string, paths: string[], CallerReference: string): Promise<void> {
  const Paths = { Quantity: paths.length, Items: paths };
  await client.send(new CreateInvalidationCommand({ DistributionId, InvalidationBatch: { CallerReference, Paths } }));
}
