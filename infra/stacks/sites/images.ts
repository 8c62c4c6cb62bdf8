import { Aws, CfnOutput, Duration, type Stack } from "aws-cdk-lib";
import * as cloudfront from "aws-cdk-lib/aws-cloudfront";
import { S3BucketOrigin } from "aws-cdk-lib/aws-cloudfront-origins";
import { Bucket, type IBucket, type ReplicationRule } from "aws-cdk-lib/aws-s3";
import { Construct } from "constructs";
import { folders, type Owner } from "../../../lib/images/keys.ts";
import type { Packaged } from "../../build/package.ts";
import type { StageSettings } from "../../settings/schema.ts";
import { acknowledgeWildcards } from "../shared/acknowledge.ts";
import { imageBucketProps, logBucket } from "../shared/log-bucket.ts";
import type { Resource } from "../shared/service-function.ts";
import type { Stage } from "../shared/stage.ts";
import { makeDistribution } from "./distribution.ts";

export type Images = ReturnType<typeof makeImages>;

/**
 * The bucket of images and its CDN. Only image functions and CloudFront have access to the bucket.
 * @param webAcl the ARN of the web ACL of a stage with a firewall
 * @param copies the ARN of the bucket in another region to which images are replicated, if there is one
 */
export function makeImages(
  { stack, settings, unique }: Stage,
  certificateArn: string,
  webAcl: string | undefined,
  copies: string | undefined,
) {
  const scope = new Construct(new Construct(stack, "Images"), "Served");
  const logs = logBucket(scope, "Logs", settings);
  const bucket = new Bucket(scope, "Bucket", {
    ...imageBucketProps(settings.isProtected),
    serverAccessLogsBucket: logs,
    serverAccessLogsPrefix: "bucket/",
    ...(copies ? { replicationRules: [replication(Bucket.fromBucketArn(scope, "Copies", copies))] } : {}),
  });
  const replicated = copies ? [bucket.bucketArn, copies].map((each) => `${each}/*`) : [];
  acknowledgeWildcards(bucket, replicated, "Images have random names, and there is nothing else in these buckets.");
  const originAccessControl = new cloudfront.S3OriginAccessControl(scope, "Access", {
    originAccessControlName: `${unique}-images-access`,
  });
  const distribution = makeDistribution(scope, {
    content: "Images",
    domain: settings.imageDomain,
    certificateArn,
    hasAlias: settings.hasAliases,
    locations: settings.priceClass,
    webAcl,
    defaultBehavior: {
      origin: S3BucketOrigin.withOriginAccessControl(bucket as IBucket, { originAccessControl }),
      viewerProtocolPolicy: cloudfront.ViewerProtocolPolicy.HTTPS_ONLY,
      responseHeadersPolicy: headersPolicy(scope, unique),
    },
    logBucket: logs,
    logFilePrefix: "cdn/",
  });

  // Images have random names in a folder that holds nothing else.
  const foldersOf = (owners: readonly Owner[]) => owners.map((owner) => `${folders[owner]}/*`);
  const objectsOf = (owners: readonly Owner[]) => foldersOf(owners).map((each) => bucket.arnForObjects(each));
  const variables = { IMAGE_BUCKET: bucket.bucketName };
  return {
    bucket,
    distribution,
    /** The images of these owners. A function may delete them, and write them if it processes images. */
    resourceFor:
      (owners: readonly Owner[]) =>
      ({ processesImages }: Packaged): Resource => {
        const actions = ["s3:DeleteObject", ...(processesImages ? ["s3:PutObject"] : [])];
        return { variables, policies: { KeepImages: [{ actions, resources: objectsOf(owners) }] } };
      },
    /**
     * The deleted images of these owners. A function may copy earlier versions to the same folders, and neither write
     * anything else there nor delete a version.
     */
    restorationFor(owners: readonly Owner[]): Resource {
      const list = {
        actions: ["s3:ListBucketVersions"],
        resources: [bucket.bucketArn],
        conditions: { StringLike: { "s3:prefix": foldersOf(owners) } },
      };
      const read = { actions: ["s3:GetObjectVersion"], resources: objectsOf(owners) };
      const copy = {
        actions: ["s3:PutObject"],
        resources: objectsOf(owners),
        conditions: {
          StringLike: { "s3:x-amz-copy-source": foldersOf(owners).map((each) => `${bucket.bucketName}/${each}`) },
        },
      };
      return { variables, policies: { RestoreImages: [list, read, copy] } };
    },
  };
}

const headersPolicy = (scope: Construct, prefix: string): cloudfront.ResponseHeadersPolicy =>
  new cloudfront.ResponseHeadersPolicy(scope, "Headers", {
    responseHeadersPolicyName: `${prefix}-images-headers`,
    securityHeadersBehavior: {
      contentTypeOptions: { override: true },
      // The local gateway has the same policy (infra/local/pages/images.ts).
      contentSecurityPolicy: { contentSecurityPolicy: "default-src 'none'; sandbox", override: true },
      frameOptions: { frameOption: cloudfront.HeadersFrameOption.DENY, override: true },
      referrerPolicy: { referrerPolicy: cloudfront.HeadersReferrerPolicy.NO_REFERRER, override: true },
      strictTransportSecurity: { accessControlMaxAge: Duration.days(730), includeSubdomains: true, override: true },
    },
    customHeadersBehavior: {
      // Pages of other sites may embed its files.
      customHeaders: [{ header: "Cross-Origin-Resource-Policy", value: "cross-origin", override: true }],
    },
  });

/**
 * S3 copies every image to a bucket in another region, and deletes there what is deleted here; both buckets keep deleted
 * images for a while. Permanent deletions of versions are not replicated.
 */
const replication = (destination: IBucket): ReplicationRule => ({
  destination,
  priority: 1,
  deleteMarkerReplication: true,
});

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
  });
  new CfnOutput(stack, "ImageBackupBucket", { value: bucket.bucketName });
  return `arn:${Aws.PARTITION}:s3:::${bucketName}`;
}
