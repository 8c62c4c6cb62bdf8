import { Duration, type Stack } from "aws-cdk-lib";
import { ReadWriteType, Trail } from "aws-cdk-lib/aws-cloudtrail";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import { Bucket, type IBucket } from "aws-cdk-lib/aws-s3";
import { Construct } from "constructs";
import type { DatabaseSettings } from "../../settings/schema.ts";
import { acknowledge } from "../shared/acknowledge.ts";
import { makeLog } from "../shared/log.ts";
import { oldVersionsDays, privateBucketProps } from "../shared/log-bucket.ts";

/**
 * CloudTrail's record of who invoked operators' functions. Lambda does not tell a function its caller; the request id
 * connects a row of the ledger with this record.
 * @param functions whose invocations are recorded, with the caller, and nothing else
 * @param days for how long the bucket keeps the records; the log, which is easier to search, has its own retention
 */
export function addTrail(
  stack: Stack,
  settings: DatabaseSettings,
  functions: readonly IFunction[],
  days: number,
): void {
  const scope = new Construct(stack, "Trail");
  const bucket = new Bucket(scope, "Bucket", {
    ...privateBucketProps(settings.isProtected),
    versioned: true,
    lifecycleRules: [{ expiration: Duration.days(days), noncurrentVersionExpiration: Duration.days(oldVersionsDays) }],
  });
  acknowledge(bucket, {
    "AwsSolutions-S1":
      "It is a record of access itself, which CloudTrail writes and signs; its digest files reveal any change.",
  });
  const trail = new Trail(scope, "Trail", {
    trailName: `colophon-${settings.name}-operators`,
    bucket: bucket as IBucket,
    sendToCloudWatchLogs: true,
    cloudWatchLogGroup: makeLog(scope, "Log", `/colophon/${settings.name}-database/operators`, settings),
    enableFileValidation: true,
    // The functions are in this region only, and this trail does not record management events.
    isMultiRegionTrail: false,
    includeGlobalServiceEvents: false,
    managementEvents: ReadWriteType.NONE,
  });
  trail.addLambdaEventSelector([...functions], { includeManagementEvents: false, readWriteType: ReadWriteType.ALL });
}
