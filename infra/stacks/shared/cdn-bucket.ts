import { Duration } from "aws-cdk-lib";
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
import { Bucket, type IBucket } from "aws-cdk-lib/aws-s3";
import { Construct } from "constructs";
import { acknowledge } from "./acknowledge.ts";
import type { LogSettings } from "./log.ts";
import { logBucket, oldVersionsDays, privateBucketProps } from "./log-bucket.ts";

export interface CdnBucketProps extends LogSettings {
  readonly domain: string;
  /** In us-east-1, where CloudFront looks for it. */
  readonly certificateArn: string;
  /** What it contains, in one word. */
  readonly content: string;
  readonly contentSecurityPolicy: string;
  /** The ARN of the web ACL of a stage with a firewall. */
  readonly webAcl: string | undefined;
}

/** A bucket that only CloudFront may read, and the CloudFront distribution in front of it, with its own domain. */
export class CdnBucket extends Construct {
  readonly bucket: IBucket;
  readonly distribution: Distribution;

  constructor(scope: Construct, id: string, props: CdnBucketProps) {
    super(scope, id);
    const logs = logBucket(this, "Logs", props);
    this.bucket = new Bucket(this, "Bucket", {
      ...privateBucketProps(props.isProtected),
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
      comment: `${props.content} of ${props.domain}`,
      domainNames: [props.domain],
      certificate: Certificate.fromCertificateArn(this, "Certificate", props.certificateArn),
      minimumProtocolVersion: SecurityPolicyProtocol.TLS_V1_2_2021,
      httpVersion: HttpVersion.HTTP2_AND_3,
      defaultBehavior: {
        origin: S3BucketOrigin.withOriginAccessControl(this.bucket),
        viewerProtocolPolicy: ViewerProtocolPolicy.HTTPS_ONLY,
        responseHeadersPolicy: this.headers(props),
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

  private headers({ contentSecurityPolicy }: CdnBucketProps): ResponseHeadersPolicy {
    return new ResponseHeadersPolicy(this, "Headers", {
      securityHeadersBehavior: {
        contentTypeOptions: { override: true },
        contentSecurityPolicy: { contentSecurityPolicy, override: true },
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
}
