import { Duration } from "aws-cdk-lib";
import { BlockPublicAccess, Bucket, BucketEncryption, type IBucket, ObjectOwnership } from "aws-cdk-lib/aws-s3";
import type { Construct } from "constructs";
import { acknowledge } from "./acknowledge.ts";
import { type LogSettings, removalPolicyOf } from "./log.ts";

/** For how many days a deleted, replaced or expired object of a versioned bucket can be restored. */
export const oldVersionsDays = 30;

/** The settings of every bucket: only policies give access, and only over TLS. */
export const privateBucketProps = (isProtected: boolean) =>
  ({
    blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
    encryption: BucketEncryption.S3_MANAGED,
    enforceSSL: true,
    minimumTLSVersion: 1.2,
    removalPolicy: removalPolicyOf(isProtected),
  }) as const;

/** Those of buckets of images, which keep deleted and replaced images for a while. */
export const imageBucketProps = (isProtected: boolean) => ({
  ...privateBucketProps(isProtected),
  versioned: true,
  lifecycleRules: [
    {
      noncurrentVersionExpiration: Duration.days(oldVersionsDays),
      expiredObjectDeleteMarker: true,
      abortIncompleteMultipartUploadAfter: Duration.days(1),
    },
  ],
});

/** The bucket to which CloudFront and S3 write their access logs. */
export function logBucket(scope: Construct, id: string, { logRetentionDays, isProtected }: LogSettings): IBucket {
  const bucket = new Bucket(scope, id, {
    ...privateBucketProps(isProtected),
    // CloudFront needs an access control list to write its logs.
    objectOwnership: ObjectOwnership.BUCKET_OWNER_PREFERRED,
    lifecycleRules: [{ expiration: Duration.days(logRetentionDays) }],
  });
  acknowledge(bucket, {
    "AwsSolutions-S1": "This bucket stores the access logs; logging access to it would never end.",
  });
  return bucket as IBucket;
}
