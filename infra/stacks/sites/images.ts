import { Stack } from "aws-cdk-lib";
import type { Distribution } from "aws-cdk-lib/aws-cloudfront";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { CfnBucket, IBucket } from "aws-cdk-lib/aws-s3";
import { Construct } from "constructs";
import { folders, type Owner } from "../../../lib/images/keys.ts";
import type { Packaged } from "../../build/package.ts";
import { CdnBucket, type CdnBucketProps } from "../shared/cdn-bucket.ts";
import type { Resource } from "../shared/service-function.ts";
import { replicate } from "./replication.ts";

export interface ImagesProps extends Omit<CdnBucketProps, "content" | "contentSecurityPolicy"> {
  /** The ARN of the bucket in another region to which images are replicated, if there is one. */
  readonly copies: string | undefined;
}

/** The bucket of images and its CDN. Only image functions and CloudFront have access to the bucket. */
export class Images extends Construct {
  readonly bucket: IBucket;
  readonly distribution: Distribution;

  constructor(scope: Construct, id: string, { copies, ...props }: ImagesProps) {
    super(scope, id);
    const { bucket, distribution } = new CdnBucket(this, "Served", {
      ...props,
      content: "Images",
      // The local gateway has the same policy (infra/local/pages/images.ts).
      contentSecurityPolicy: "default-src 'none'; sandbox",
    });
    this.bucket = bucket;
    this.distribution = distribution;
    if (copies) replicate(bucket, copies);
  }

  /** The images of these owners. A function may delete them, and write them if it processes images. */
  resourceFor(owners: readonly Owner[], { processesImages }: Pick<Packaged, "processesImages">): Resource {
    const statement = new PolicyStatement({
      actions: ["s3:DeleteObject", ...(processesImages ? ["s3:PutObject"] : [])],
      resources: this.objectsOf(owners),
    });
    return this.resource(owners, { KeepImages: [statement] });
  }

  /**
   * The deleted images of these owners. A function may copy earlier versions to the same folders, and neither write
   * anything else there nor delete a version.
   */
  restorationFor(owners: readonly Owner[]): Resource {
    const prefixes = owners.map((owner) => `${folders[owner]}/*`);
    const list = new PolicyStatement({
      actions: ["s3:ListBucketVersions"],
      resources: [this.bucket.bucketArn],
      conditions: { StringLike: { "s3:prefix": prefixes } },
    });
    const read = new PolicyStatement({ actions: ["s3:GetObjectVersion"], resources: this.objectsOf(owners) });
    const copy = new PolicyStatement({
      actions: ["s3:PutObject"],
      resources: this.objectsOf(owners),
      conditions: {
        StringLike: { "s3:x-amz-copy-source": prefixes.map((each) => `${this.bucket.bucketName}/${each}`) },
      },
    });
    return this.resource(owners, { RestoreImages: [list, read, copy] });
  }

  private resource(owners: readonly Owner[], policies: Resource["policies"]): Resource {
    const reason =
      "Images get random names inside a folder, so no narrower resource can be written down. The folder holds nothing but the images that this function is for.";
    return {
      variables: { IMAGE_BUCKET: this.bucket.bucketName },
      policies,
      reasons: Object.fromEntries(owners.map((owner) => [this.finding(folders[owner]), reason])),
    };
  }

  private objectsOf(owners: readonly Owner[]): string[] {
    return owners.map((owner) => this.bucket.arnForObjects(`${folders[owner]}/*`));
  }

  private finding(folder: string): string {
    const bucket = Stack.of(this).getLogicalId(this.bucket.node.defaultChild as CfnBucket);
    return `AwsSolutions-IAM5[Resource::<${bucket}.Arn>/${folder}/*]`;
  }
}
