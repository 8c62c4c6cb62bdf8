import { Duration, RemovalPolicy, Stack } from "aws-cdk-lib";
import { Certificate } from "aws-cdk-lib/aws-certificatemanager";
import {
  Distribution,
  HeadersFrameOption,
  HeadersReferrerPolicy,
  HttpVersion,
  ResponseHeadersPolicy,
  SecurityPolicyProtocol,
  ViewerProtocolPolicy,
} from "aws-cdk-lib/aws-cloudfront";
import { S3BucketOrigin } from "aws-cdk-lib/aws-cloudfront-origins";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import {
  BlockPublicAccess,
  Bucket,
  BucketEncryption,
  type CfnBucket,
  type IBucket,
  ObjectOwnership,
} from "aws-cdk-lib/aws-s3";
import { Construct } from "constructs";
import { newKey, type Owner } from "../../lib/images/keys.ts";
import type { Packaged } from "../package.ts";
import { acknowledge } from "./acknowledge.ts";
import type { Resource } from "./endpoint.ts";

export interface ImagesProps {
  readonly domain: string;
  /** In us-east-1, where CloudFront looks for it. */
  readonly certificateArn: string;
  readonly logRetentionDays: number;
  readonly isProtected: boolean;
}

/** For how long a deleted or replaced image can be brought back. */
const oldVersionsDays = 30;

/** The bucket of the images, which only its functions and CloudFront reach, and the CDN in front of it. */
export class Images extends Construct {
  readonly bucket: IBucket;
  readonly distribution: Distribution;

  constructor(scope: Construct, id: string, props: ImagesProps) {
    super(scope, id);
    const closed = {
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      encryption: BucketEncryption.S3_MANAGED,
      enforceSSL: true,
      minimumTLSVersion: 1.2,
      removalPolicy: props.isProtected ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
    } as const;
    const logs = new Bucket(this, "Logs", {
      ...closed,
      // CloudFront delivers its logs by an access control list.
      objectOwnership: ObjectOwnership.BUCKET_OWNER_PREFERRED,
      lifecycleRules: [{ expiration: Duration.days(props.logRetentionDays) }],
    }) as IBucket;
    this.bucket = new Bucket(this, "Bucket", {
      ...closed,
      versioned: true,
      lifecycleRules: [
        {
          noncurrentVersionExpiration: Duration.days(oldVersionsDays),
          expiredObjectDeleteMarker: true,
          abortIncompleteMultipartUploadAfter: Duration.days(1),
        },
      ],
      serverAccessLogsBucket: logs,
      serverAccessLogsPrefix: "bucket/",
    }) as IBucket;
    this.distribution = new Distribution(this, "Distribution", {
      comment: `Images of ${props.domain}`,
      domainNames: [props.domain],
      certificate: Certificate.fromCertificateArn(this, "Certificate", props.certificateArn),
      minimumProtocolVersion: SecurityPolicyProtocol.TLS_V1_2_2021,
      httpVersion: HttpVersion.HTTP2_AND_3,
      defaultBehavior: {
        origin: S3BucketOrigin.withOriginAccessControl(this.bucket),
        viewerProtocolPolicy: ViewerProtocolPolicy.HTTPS_ONLY,
        responseHeadersPolicy: this.headers(),
      },
      enableLogging: true,
      logBucket: logs,
      logFilePrefix: "cdn/",
    });
    acknowledge(this.distribution, {
      "AwsSolutions-CFR1": "The catalogue is for readers everywhere; its images are too.",
      "AwsSolutions-CFR2":
        "It serves static files under names that nobody can guess, to GET and HEAD alone, and evaluates nothing a client sends.",
    });
  }

  /** Of every answer, as on the local machine (infra/local/images.ts). */
  private headers(): ResponseHeadersPolicy {
    return new ResponseHeadersPolicy(this, "Headers", {
      securityHeadersBehavior: {
        contentTypeOptions: { override: true },
        contentSecurityPolicy: { contentSecurityPolicy: "default-src 'none'; sandbox", override: true },
        frameOptions: { frameOption: HeadersFrameOption.DENY, override: true },
        referrerPolicy: { referrerPolicy: HeadersReferrerPolicy.NO_REFERRER, override: true },
        strictTransportSecurity: { accessControlMaxAge: Duration.days(730), includeSubdomains: true, override: true },
      },
      customHeadersBehavior: {
        customHeaders: [{ header: "Cross-Origin-Resource-Policy", value: "cross-origin", override: true }],
      },
    });
  }

  /** The images that a path is about, or all of them: to remove, and to write for whoever makes images. */
  resourceFor(path: string, { processesImages }: Pick<Packaged, "processesImages">): Resource {
    const owners = Object.entries(ownersByPath).flatMap(([prefix, owner]) =>
      prefix.startsWith(path) || path.startsWith(prefix) ? owner : [],
    );
    const folders = owners.map(folderOf);
    const statement = new PolicyStatement({
      actions: ["s3:DeleteObject", ...(processesImages ? ["s3:PutObject"] : [])],
      resources: folders.map((folder) => this.bucket.arnForObjects(`${folder}/*`)),
    });
    const reason =
      "Images get random names inside a folder, so no narrower resource can be written down. The folder holds nothing but the images that this function is for.";
    return {
      variables: { IMAGE_BUCKET: this.bucket.bucketName },
      policies: { KeepImages: [statement] },
      reasons: Object.fromEntries(folders.map((folder) => [this.finding(folder), reason])),
    };
  }

  private finding(folder: string): string {
    const bucket = Stack.of(this).getLogicalId(this.bucket.node.defaultChild as CfnBucket);
    return `AwsSolutions-IAM5[Resource::<${bucket}.Arn>/${folder}/*]`;
  }
}

const ownersByPath: Readonly<Record<string, Owner>> = {
  "/admin-users/": "users",
  "/admin-contributors/": "contributors",
};

/** The folder that an owner's images lie in. */
const folderOf = (owner: Owner) => newKey(owner).replace(/\/.*/, "");
