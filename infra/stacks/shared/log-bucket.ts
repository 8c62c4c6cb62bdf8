import { Duration, RemovalPolicy } from "aws-cdk-lib";
import { BlockPublicAccess, Bucket, BucketEncryption, type IBucket, ObjectOwnership } from "aws-cdk-lib/aws-s3";
import type { Construct } from "constructs";
import { acknowledge } from "./acknowledge.ts";

/** What every bucket has: nobody reads it but by a policy, nothing travels in the clear. */
export const closedBucket = (isProtected: boolean) =>
  ({
    blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
    encryption: BucketEncryption.S3_MANAGED,
    enforceSSL: true,
    minimumTLSVersion: 1.2,
    removalPolicy: isProtected ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
  }) as const;

export interface LogKeeping {
  readonly logRetentionDays: number;
  /** Whether the logs outlive the stack. */
  readonly isProtected: boolean;
}

/** Where CloudFront and S3 write down the requests they got. */
export function logBucket(scope: Construct, id: string, { logRetentionDays, isProtected }: LogKeeping): IBucket {
  const bucket = new Bucket(scope, id, {
    ...closedBucket(isProtected),
    // CloudFront delivers its logs by an access control list.
    objectOwnership: ObjectOwnership.BUCKET_OWNER_PREFERRED,
    lifecycleRules: [{ expiration: Duration.days(logRetentionDays) }],
  });
  acknowledge(bucket, { "AwsSolutions-S1": "It is the log. One of who reads it would need another log in turn." });
  return bucket as IBucket;
}
