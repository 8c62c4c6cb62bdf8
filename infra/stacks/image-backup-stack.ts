import { Aws, CfnOutput, type Stack } from "aws-cdk-lib";
import { Bucket, type IBucket } from "aws-cdk-lib/aws-s3";
import type { StageSettings } from "../settings/schema.ts";
import { imageBucketProps, logBucket } from "./shared/log-bucket.ts";

/**
 * The bucket of the copies of a stage's images, in another region. Only S3 writes to it, when it replicates.
 * @returns its ARN, by its name, so that a fault of this region does not stop the deployment of the stage
 */
export function addImageCopies(stack: Stack, settings: StageSettings): string {
  const bucketName = `colophon-${settings.name}-image-copies-${stack.account}-${stack.region}`;
  const bucket = new Bucket(stack, "Bucket", {
    bucketName,
    ...imageBucketProps(settings.isProtected),
    serverAccessLogsBucket: logBucket(stack, "Logs", settings),
    serverAccessLogsPrefix: "bucket/",
  }) as IBucket;
  new CfnOutput(stack, "ImageBackupBucket", { value: bucket.bucketName });
  return `arn:${Aws.PARTITION}:s3:::${bucketName}`;
}
