import { Duration, type Stack } from "aws-cdk-lib";
import { Bucket } from "aws-cdk-lib/aws-s3";
import { Construct } from "constructs";
import type { LogSettings } from "../shared/log.ts";
import { logBucket, privateBucketProps } from "../shared/log-bucket.ts";
import type { Resource } from "../shared/service-function.ts";

/** What a function may do with the files of a folder, which holds no others. Operators name them. */
const rights: Readonly<Record<string, { readonly folder: string; readonly actions: string[] }>> = {
  "ops-import": { folder: "imports", actions: ["s3:GetObject"] },
  "ops-export": { folder: "exports", actions: ["s3:PutObject", "s3:AbortMultipartUpload"] },
};

/** For how many days a file can be downloaded or imported. */
const fileDays = 30;

/**
 * The bucket of the files that are imported and exported. Operators upload to `imports/` and download from `exports/` by
 * credentials of their own; its access log says who did.
 * @returns what the functions that import and export use of it, by their names
 */
export function makeTransfers(stack: Stack, bucketName: string, settings: LogSettings) {
  const scope = new Construct(stack, "Transfers");
  const bucket = new Bucket(scope, "Bucket", {
    // CloudFormation deletes no bucket that has files, and in a month it has none.
    ...privateBucketProps(false),
    bucketName,
    lifecycleRules: [{ expiration: Duration.days(fileDays), abortIncompleteMultipartUploadAfter: Duration.days(1) }],
    serverAccessLogsBucket: logBucket(scope, "Logs", settings),
  });
  return (name: string): Resource[] => {
    const right = rights[name];
    if (!right) return [];
    const { folder, actions } = right;
    return [
      {
        variables: { TRANSFER_BUCKET: bucket.bucketName },
        policies: { Transfer: [{ actions, resources: [bucket.arnForObjects(`${folder}/*`)] }] },
      },
    ];
  };
}
