import { Duration, Stack } from "aws-cdk-lib";
import { Certificate } from "aws-cdk-lib/aws-certificatemanager";
import {
  Distribution,
  HeadersFrameOption,
  HeadersReferrerPolicy,
  HttpVersion,
  ResponseHeadersPolicy,
  S3OriginAccessControl,
  SecurityPolicyProtocol,
  ViewerProtocolPolicy,
} from "aws-cdk-lib/aws-cloudfront";
import { S3BucketOrigin } from "aws-cdk-lib/aws-cloudfront-origins";
import { Bucket, type CfnBucket, type IBucket, type ReplicationRule } from "aws-cdk-lib/aws-s3";
import { Construct } from "constructs";
import { folders, type Owner } from "../../../lib/images/keys.ts";
import type { Packaged } from "../../build/package.ts";
import { commentOf } from "../../operate/distribution-comment.ts";
import type { StageSettings } from "../../settings/schema.ts";
import { acknowledge, wildcardFinding } from "../shared/acknowledge.ts";
import { imageBucketProps, logBucket } from "../shared/log-bucket.ts";
import type { Resource } from "../shared/service-function.ts";

export interface ImagesProps {
  /** The prefix of global names. */
  readonly prefix: string;
  readonly settings: StageSettings;
  /** In us-east-1, where CloudFront looks for it. */
  readonly certificateArn: string;
  /** The ARN of the web ACL of a stage with a firewall. */
  readonly webAcl: string | undefined;
  /** The ARN of the bucket in another region to which images are replicated, if there is one. */
  readonly copies: string | undefined;
}

/** The bucket of images and its CDN. Only image functions and CloudFront have access to the bucket. */
export class Images extends Construct {
  readonly bucket: IBucket;
  readonly distribution: Distribution;

  constructor(scope: Construct, id: string, props: ImagesProps) {
    super(scope, id);
    const served = new Construct(this, "Served");
    const { settings } = props;
    const logs = logBucket(served, "Logs", settings);
    this.bucket = new Bucket(served, "Bucket", {
      ...imageBucketProps(settings.isProtected),
      serverAccessLogsBucket: logs,
      serverAccessLogsPrefix: "bucket/",
      ...(props.copies
        ? { replicationRules: [replication(Bucket.fromBucketArn(served, "Copies", props.copies))] }
        : {}),
    }) as IBucket;
    if (props.copies) this.acknowledgeReplication(props.copies);
    this.distribution = new Distribution(served, "Distribution", {
      comment: commentOf("Images", settings.imageDomain, Stack.of(this).region),
      ...(settings.hasAliases ? { domainNames: [settings.imageDomain] } : {}),
      certificate: Certificate.fromCertificateArn(served, "Certificate", props.certificateArn),
      minimumProtocolVersion: SecurityPolicyProtocol.TLS_V1_2_2021,
      httpVersion: HttpVersion.HTTP2_AND_3,
      defaultBehavior: {
        origin: S3BucketOrigin.withOriginAccessControl(this.bucket, {
          originAccessControl: new S3OriginAccessControl(served, "Access", {
            originAccessControlName: `${props.prefix}-images-access`,
          }),
        }),
        viewerProtocolPolicy: ViewerProtocolPolicy.HTTPS_ONLY,
        responseHeadersPolicy: this.headers(served, props),
      },
      ...(props.webAcl ? { webAclId: props.webAcl } : {}),
      enableLogging: true,
      logBucket: logs,
      logFilePrefix: "cdn/",
    });
    acknowledge(this.distribution, {
      "AwsSolutions-CFR1": "The catalogue is for readers everywhere, and so is what it shows.",
      ...(props.webAcl ? {} : { "AwsSolutions-CFR2": "This stage has no firewall by its settings." }),
    });
  }

  private headers(served: Construct, { prefix }: ImagesProps): ResponseHeadersPolicy {
    return new ResponseHeadersPolicy(served, "Headers", {
      responseHeadersPolicyName: `${prefix}-images-headers`,
      securityHeadersBehavior: {
        contentTypeOptions: { override: true },
        // The local gateway has the same policy (infra/local/pages/images.ts).
        contentSecurityPolicy: { contentSecurityPolicy: "default-src 'none'; sandbox", override: true },
        frameOptions: { frameOption: HeadersFrameOption.DENY, override: true },
        referrerPolicy: { referrerPolicy: HeadersReferrerPolicy.NO_REFERRER, override: true },
        strictTransportSecurity: { accessControlMaxAge: Duration.days(730), includeSubdomains: true, override: true },
      },
      customHeadersBehavior: {
        // Pages of other sites may embed its files.
        customHeaders: [{ header: "Cross-Origin-Resource-Policy", value: "cross-origin", override: true }],
      },
    });
  }

  private acknowledgeReplication(copies: string): void {
    const reason = "Images have random names, and there is nothing else in these buckets.";
    const here = `<${this.logicalId}.Arn>`;
    acknowledge(this.bucket, Object.fromEntries([here, copies].map((each) => [wildcardFinding(`${each}/*`), reason])));
  }

  /** The images of these owners. A function may delete them, and write them if it processes images. */
  resourceFor(owners: readonly Owner[], { processesImages }: Pick<Packaged, "processesImages">): Resource {
    const statement = {
      actions: ["s3:DeleteObject", ...(processesImages ? ["s3:PutObject"] : [])],
      resources: this.objectsOf(owners),
    };
    return this.resource(owners, { KeepImages: [statement] });
  }

  /**
   * The deleted images of these owners. A function may copy earlier versions to the same folders, and neither write
   * anything else there nor delete a version.
   */
  restorationFor(owners: readonly Owner[]): Resource {
    const prefixes = owners.map((owner) => `${folders[owner]}/*`);
    const list = {
      actions: ["s3:ListBucketVersions"],
      resources: [this.bucket.bucketArn],
      conditions: { StringLike: { "s3:prefix": prefixes } },
    };
    const read = { actions: ["s3:GetObjectVersion"], resources: this.objectsOf(owners) };
    const copy = {
      actions: ["s3:PutObject"],
      resources: this.objectsOf(owners),
      conditions: {
        StringLike: { "s3:x-amz-copy-source": prefixes.map((each) => `${this.bucket.bucketName}/${each}`) },
      },
    };
    return this.resource(owners, { RestoreImages: [list, read, copy] });
  }

  private resource(owners: readonly Owner[], policies: NonNullable<Resource["policies"]>): Resource {
    const reason =
      "Images get random names inside a folder, so no narrower resource can be written down. The folder holds nothing but the images that this function is for.";
    return {
      variables: { IMAGE_BUCKET: this.bucket.bucketName },
      policies,
      reasons: Object.fromEntries(
        owners.map((owner) => [wildcardFinding(`<${this.logicalId}.Arn>/${folders[owner]}/*`), reason]),
      ),
    };
  }

  private objectsOf(owners: readonly Owner[]): string[] {
    return owners.map((owner) => this.bucket.arnForObjects(`${folders[owner]}/*`));
  }

  private get logicalId(): string {
    return Stack.of(this).getLogicalId(this.bucket.node.defaultChild as CfnBucket);
  }
}

/**
 * S3 copies every image to a bucket in another region, and deletes there what is deleted here; both buckets keep deleted
 * images for a while. Permanent deletions of versions are not replicated.
 */
const replication = (destination: IBucket): ReplicationRule => ({
  destination,
  priority: 1,
  deleteMarkerReplication: true,
});
