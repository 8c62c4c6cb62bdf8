import { Aws, CfnOutput, Stack, type StackProps } from "aws-cdk-lib";
import { Bucket, type IBucket } from "aws-cdk-lib/aws-s3";
import type { Construct } from "constructs";
import type { StageSettings } from "../settings/schema.ts";
import { imageBucketProps, logBucket } from "./shared/log-bucket.ts";

export interface ImageBackupStackProps extends Pick<StackProps, "env" | "tags" | "synthesizer"> {
  readonly settings: StageSettings;
}

/** The bucket of the copies of a stage's images, in another region. Only S3 writes to it, when it replicates. */
export class ImageBackupStack extends Stack {
  /** For the stage's stack: by the name, so that a fault of this region does not stop its deployment. */
  readonly bucketArn: string;

  constructor(scope: Construct, id: string, { settings, ...stackProps }: ImageBackupStackProps) {
    super(scope, id, {
      ...stackProps,
      description: `Colophon: copies of the images of stage ${settings.name}`,
      terminationProtection: settings.isProtected,
    });
    const bucketName = `colophon-${settings.name}-image-copies-${this.account}-${this.region}`;
    const bucket = new Bucket(this, "Bucket", {
      bucketName,
      ...imageBucketProps(settings.isProtected),
      serverAccessLogsBucket: logBucket(this, "Logs", settings),
      serverAccessLogsPrefix: "bucket/",
    }) as IBucket;
    new CfnOutput(this, "ImageBackupBucket", { value: bucket.bucketName });
    this.bucketArn = `arn:${Aws.PARTITION}:s3:::${bucketName}`;
  }
}
