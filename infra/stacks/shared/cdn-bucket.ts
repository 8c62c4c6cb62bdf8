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
import { Bucket, type IBucket } from "aws-cdk-lib/aws-s3";
import { Construct } from "constructs";
import { commentOf } from "../../operate/distribution-comment.ts";
import { acknowledge } from "./acknowledge.ts";
import type { LogSettings } from "./log.ts";
import { imageBucketProps, logBucket } from "./log-bucket.ts";

export interface CdnBucketProps extends LogSettings {
  /** The prefix of global names. */
  readonly prefix: string;
  readonly domain: string;
  /** Whether the distribution has the domain as its alias. */
  readonly hasAlias: boolean;
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
      ...imageBucketProps(props.isProtected),
      serverAccessLogsBucket: logs,
      serverAccessLogsPrefix: "bucket/",
    }) as IBucket;
    this.distribution = new Distribution(this, "Distribution", {
      comment: commentOf(props.content, props.domain, Stack.of(this).region),
      ...(props.hasAlias ? { domainNames: [props.domain] } : {}),
      certificate: Certificate.fromCertificateArn(this, "Certificate", props.certificateArn),
      minimumProtocolVersion: SecurityPolicyProtocol.TLS_V1_2_2021,
      httpVersion: HttpVersion.HTTP2_AND_3,
      defaultBehavior: {
        origin: S3BucketOrigin.withOriginAccessControl(this.bucket, {
          originAccessControl: new S3OriginAccessControl(this, "Access", {
            originAccessControlName: nameOf(props, "access"),
          }),
        }),
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

  private headers(props: CdnBucketProps): ResponseHeadersPolicy {
    const { contentSecurityPolicy } = props;
    return new ResponseHeadersPolicy(this, "Headers", {
      responseHeadersPolicyName: nameOf(props, "headers"),
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

const nameOf = ({ prefix, content }: CdnBucketProps, name: string) => `${prefix}-${content.toLowerCase()}-${name}`;
