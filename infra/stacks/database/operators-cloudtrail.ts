import { Duration } from "aws-cdk-lib";
import { ReadWriteType, Trail } from "aws-cdk-lib/aws-cloudtrail";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import { Bucket, type IBucket } from "aws-cdk-lib/aws-s3";
import { Construct } from "constructs";
import { acknowledge } from "../shared/acknowledge.ts";
import { type LogSettings, makeLog } from "../shared/log.ts";
import { oldVersionsDays, privateBucketProps } from "../shared/log-bucket.ts";

export interface OperatorsTrailProps extends LogSettings {
  readonly database: string;
  /** The functions whose invocations are recorded, with the caller. Nothing else is recorded. */
  readonly functions: readonly IFunction[];
  /** For how long the bucket keeps the records. The log, which is easier to search, has its own retention. */
  readonly retentionDays: number;
}

/**
 * CloudTrail's record of who invoked operators' functions. Lambda does not tell a function its caller; the request id
 * connects a row of the ledger with this record.
 */
export class OperatorsTrail extends Construct {
  constructor(scope: Construct, id: string, props: OperatorsTrailProps) {
    super(scope, id);
    const bucket = new Bucket(this, "Bucket", {
      ...privateBucketProps(props.isProtected),
      versioned: true,
      lifecycleRules: [
        {
          expiration: Duration.days(props.retentionDays),
          noncurrentVersionExpiration: Duration.days(oldVersionsDays),
        },
      ],
    });
    acknowledge(bucket, {
      "AwsSolutions-S1":
        "It is a record of access itself, which CloudTrail writes and signs; its digest files reveal any change.",
    });
    const log = makeLog(this, "Log", `/colophon/${props.database}-database/operators`, props);
    const trail = new Trail(this, "Trail", {
      trailName: `colophon-${props.database}-operators`,
      bucket: bucket as IBucket,
      sendToCloudWatchLogs: true,
      cloudWatchLogGroup: log,
      enableFileValidation: true,
      // The functions are in this region only, and this trail does not record management events.
      isMultiRegionTrail: false,
      includeGlobalServiceEvents: false,
      managementEvents: ReadWriteType.NONE,
    });
    trail.addLambdaEventSelector([...props.functions], {
      includeManagementEvents: false,
      readWriteType: ReadWriteType.ALL,
    });
  }
}
