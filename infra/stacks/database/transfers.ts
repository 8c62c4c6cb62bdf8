import { Duration, type Stack } from "aws-cdk-lib";
import { Bucket } from "aws-cdk-lib/aws-s3";
import { Construct } from "constructs";
import type { LogSettings } from "../shared/log.ts";
import { logBucket, privateBucketProps } from "../shared/log-bucket.ts";
import type { Resource } from "../shared/service-function.ts";

/** For how many days a file can be downloaded or imported. */
const fileDays = 30;

/**
 * The bucket of the files that are imported and exported. Operators upload to `imports/` and download from `exports/` by
 * credentials of their own; its access log says who did.
 * @returns what the functions that import and export use of it, by their names
 */
export function makeTransfers(
  stack: Stack,
  bucketName: string,
  settings: LogSettings,
): Readonly<Record<string, Resource>> {
  const scope = new Construct(stack, "Transfers");
  const bucket = new Bucket(scope, "Bucket", {
    // CloudFormation deletes no bucket that has files, and in a month it has none.
    ...privateBucketProps(false),
    bucketName,
    lifecycleRules: [{ expiration: Duration.days(fileDays), abortIncompleteMultipartUploadAfter: Duration.days(1) }],
    serverAccessLogsBucket: logBucket(scope, "Logs", settings),
  });
  /** What a function may do with the files of a folder, which holds no others. Operators name those that it reads. */
  const allow = (folder: string, ...actions: string[]) => ({
    Transfer: [{ actions, resources: [bucket.arnForObjects(`${folder}/*`)] }],
  });
  return {
    "ops-import": { policies: allow("imports", "s3:GetObject") },
    "ops-export": {
      variables: { TRANSFER_BUCKET: bucket.bucketName },
      policies: allow("exports", "s3:PutObject", "s3:AbortMultipartUpload"),
    },
  };
}
