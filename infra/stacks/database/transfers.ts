import { Duration, Stack } from "aws-cdk-lib";
import { Bucket, type CfnBucket, type IBucket } from "aws-cdk-lib/aws-s3";
import { Construct } from "constructs";
import type { LogSettings } from "../shared/log.ts";
import { logBucket, privateBucketProps } from "../shared/log-bucket.ts";
import type { Resource } from "../shared/service-function.ts";

export interface TransfersProps extends LogSettings {
  readonly bucketName: string;
}

/** What a function may do with the files of a folder. */
const rights: Readonly<Record<string, { readonly folder: string; readonly actions: readonly string[] }>> = {
  "ops-import": { folder: "imports", actions: ["s3:GetObject"] },
  "ops-export": { folder: "exports", actions: ["s3:PutObject", "s3:AbortMultipartUpload"] },
};

/** For how many days a file can be downloaded or imported. */
const fileDays = 30;

/**
 * The bucket of the files that are imported and exported. Operators upload to `imports/` and download from `exports/` by
 * credentials of their own; its access log says who did.
 */
export class Transfers extends Construct {
  readonly #bucket: IBucket;

  constructor(scope: Construct, id: string, { bucketName, ...props }: TransfersProps) {
    super(scope, id);
    this.#bucket = new Bucket(this, "Bucket", {
      // CloudFormation deletes no bucket that has files, and in a month it has none.
      ...privateBucketProps(false),
      bucketName,
      lifecycleRules: [{ expiration: Duration.days(fileDays), abortIncompleteMultipartUploadAfter: Duration.days(1) }],
      serverAccessLogsBucket: logBucket(this, "Logs", props),
    }) as IBucket;
  }

  /** For the functions that import and export; undefined for others. */
  resourceFor(name: string): Resource | undefined {
    const right = rights[name];
    if (!right) return undefined;
    const { folder, actions } = right;
    return {
      variables: { TRANSFER_BUCKET: this.#bucket.bucketName },
      policies: {
        Transfer: [{ actions: [...actions], resources: [this.#bucket.arnForObjects(`${folder}/*`)] }],
      },
      reasons: {
        [`AwsSolutions-IAM5[Resource::<${this.#logicalId}.Arn>/${folder}/*]`]:
          "Operators name the files. The folder holds nothing but the files that this function is for.",
      },
    };
  }

  get #logicalId(): string {
    return Stack.of(this).getLogicalId(this.#bucket.node.defaultChild as CfnBucket);
  }
}
