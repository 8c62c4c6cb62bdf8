import { Duration } from "aws-cdk-lib";
import { MathExpression, Stats } from "aws-cdk-lib/aws-cloudwatch";
import { Rule } from "aws-cdk-lib/aws-events";
import { SqsQueue } from "aws-cdk-lib/aws-events-targets";
import { EventSourceMapping } from "aws-cdk-lib/aws-lambda";
import type { Bucket, CfnBucket } from "aws-cdk-lib/aws-s3";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { bufferedTimeout } from "../shared/service-function.ts";
import type { Stage } from "../shared/stage.ts";
import type { Images } from "./images.ts";

/** Six times the timeout of the function (Lambda, "Using Lambda with Amazon SQS"). */
const visibilityTimeout = Duration.minutes(3);
/** Attempts for an hour: in that time CloudFront completes earlier invalidations. */
const attemptsMax = 20;
const lateMinutes = 15;

/**
 * Removes images from the CDN when they are removed from the bucket. The bucket's events go to a queue; a function
 * reads the queue and creates invalidations in CloudFront. When CloudFront rejects one, the events return to the queue.
 * CloudFront accepts 3,000 files at a time ("Concurrent invalidation request maximum"), so events are handled in
 * batches.
 */
export function invalidateRemovedImages(
  { stack, makeReleased, alarms }: Stage,
  { bucket, distribution }: Images,
): void {
  const scope = new Construct(stack, "Invalidation");
  const closed = { encryption: QueueEncryption.SQS_MANAGED, enforceSSL: true, retentionPeriod: Duration.days(14) };
  const dead = new Queue(scope, "Dead", closed);
  const queue = new Queue(scope, "Queue", {
    ...closed,
    visibilityTimeout,
    deadLetterQueue: { queue: dead, maxReceiveCount: attemptsMax },
  });
  sendRemovals(bucket, queue);
  const policies = {
    TakeMessages: [
      {
        actions: ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"],
        resources: [queue.queueArn],
      },
    ],
    ForgetImages: [{ actions: ["cloudfront:CreateInvalidation"], resources: [distribution.distributionArn] }],
  };
  const props = {
    description: "Invalidates removed images in the CDN",
    resources: [{ variables: { IMAGE_DISTRIBUTION: distribution.distributionId }, policies }],
    timeout: bufferedTimeout,
  };
  makeReleased(new Construct(scope, "Function"), "ops-invalidate-images", props, (target) => {
    new EventSourceMapping(scope, "Mapping", {
      target,
      eventSourceArn: queue.queueArn,
      batchSize: 1_000,
      maxBatchingWindow: Duration.seconds(10),
      maxConcurrency: 2,
      reportBatchItemFailures: true,
    });
  });
  alarms.add("removed-images-served", {
    metric: new MathExpression({
      expression: `FILL(waiting, 0) / ${lateMinutes * 60} + FILL(given_up, 0)`,
      label: "events that are late, or given up",
      usingMetrics: {
        waiting: queue.metricApproximateAgeOfOldestMessage({ statistic: Stats.MAXIMUM }),
        given_up: dead.metricApproximateNumberOfMessagesVisible({ statistic: Stats.MAXIMUM }),
      },
    }),
    impact: `Images that were removed are still served by the CDN, for ${lateMinutes} minutes or for good: \`ops-invalidate-images\` fails. Its log says why.`,
  });
}

/**
 * Sends the bucket's events to the queue through EventBridge: a notification from the bucket to the queue would make
 * bucket and queue depend on each other. Old versions that expire are ignored: their images were removed before.
 */
function sendRemovals(bucket: Bucket, queue: Queue): void {
  // The CDK's own method would add a function that may change the notifications of every bucket.
  const resource = bucket.node.defaultChild as CfnBucket;
  resource.notificationConfiguration = { eventBridgeConfiguration: { eventBridgeEnabled: true } };
  new Rule(queue, "Removed", {
    description: "Images that were removed",
    eventPattern: {
      source: ["aws.s3"],
      detailType: ["Object Deleted"],
      detail: { bucket: { name: [bucket.bucketName] }, reason: ["DeleteObject"] },
    },
    targets: [new SqsQueue(queue)],
  });
}
