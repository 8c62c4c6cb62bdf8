import { CfnOutput, Duration, Stack } from "aws-cdk-lib";
import { Certificate } from "aws-cdk-lib/aws-certificatemanager";
import {
  AllowedMethods,
  type BehaviorOptions,
  CachePolicy,
  CacheQueryStringBehavior,
  type CfnDistribution,
  Distribution,
  type ErrorResponse,
  HttpVersion,
  OriginRequestPolicy,
  OriginRequestQueryStringBehavior,
  ResponseHeadersPolicy,
  SecurityPolicyProtocol,
  ViewerProtocolPolicy,
} from "aws-cdk-lib/aws-cloudfront";
import { HttpOrigin, type HttpOriginProps } from "aws-cdk-lib/aws-cloudfront-origins";
import { Construct } from "constructs";
import { cacheTagHeader, exposedHeaders } from "../../../lib/contract/headers.ts";
import type { PublicRead } from "../../api/public-reads.ts";
import { commentOf } from "../../operate/distribution-comment.ts";
import type { EdgeSettings, StageSettings } from "../../settings/schema.ts";
import { acknowledge } from "../shared/acknowledge.ts";
import { logBucket } from "../shared/log-bucket.ts";

export interface EdgeProps {
  /** The prefix of global names. */
  readonly prefix: string;
  readonly settings: StageSettings;
  readonly edge: EdgeSettings;
  /** The API under API Gateway's own domain, where every path begins with the stage's name. */
  readonly api: { readonly host: string; readonly stageName: string; readonly key: string };
  readonly reads: readonly PublicRead[];
  /** The ARN of the web ACL of a stage with a firewall. */
  readonly webAcl: string | undefined;
}

/**
 * How long a visitor waits when the origin does not respond: with `stale-if-error` CloudFront serves its stale copy only
 * after the last attempt. The functions of public reads give up before, and return 503 (lib/aws/retry.ts).
 */
const readTimeout = Duration.seconds(8);
/**
 * For this time after a timeout CloudFront does not call the origin again: it serves its stale copy, or the error.
 */
const silentOriginTtl = Duration.seconds(30);
/** Longer than API Gateway waits for a function (29 s), and longer than functions leave a stream idle. */
const apiTimeout = Duration.seconds(60);
/** Opening TLS connections to the origin takes time; API Gateway keeps idle ones open for longer than this. */
const keepaliveTimeout = Duration.seconds(60);

/** The errors whose minimum TTL can be set (CloudFront, "Error caching minimum TTL"); its default is 10 s. */
const uncachedErrors = [400, 403, 404, 405, 414, 500, 501, 502, 503];
const errorResponses: ErrorResponse[] = [
  ...uncachedErrors.map((httpStatus) => ({ httpStatus, ttl: Duration.seconds(0) })),
  // CloudFront itself returns 504 when the origin does not respond. Functions return 503 before: one that is refused for
  // want of concurrency must not make CloudFront refuse all others of its path, among them those of the panel.
  { httpStatus: 504, ttl: silentOriginTtl },
];

/** CloudFront in front of the API: it caches public reads and forwards everything else. */
export class Edge extends Construct {
  readonly distribution: Distribution;
  readonly #prefix: string;

  constructor(scope: Construct, id: string, props: EdgeProps) {
    super(scope, id);
    this.#prefix = props.prefix;
    const origin = (timeouts: HttpOriginProps) =>
      new HttpOrigin(props.api.host, {
        originPath: `/${props.api.stageName}`,
        keepaliveTimeout,
        // A visitor's own header of this name does not reach the API (CloudFront, "Add custom headers to origin requests").
        customHeaders: { "x-api-key": props.api.key },
        ...timeouts,
      });
    const shared = {
      // Other methods than GET are forwarded, so that the API itself returns 404.
      allowedMethods: AllowedMethods.ALLOW_ALL,
      viewerProtocolPolicy: ViewerProtocolPolicy.HTTPS_ONLY,
    };
    const reading = {
      ...shared,
      origin: origin({ readTimeout, connectionAttempts: 1, connectionTimeout: Duration.seconds(3) }),
      responseHeadersPolicy: this.headersPolicy(),
    };
    this.distribution = new Distribution(this, "Distribution", {
      comment: commentOf("API", props.edge.domain, Stack.of(this).region),
      ...(props.settings.hasAliases ? { domainNames: [props.edge.domain] } : {}),
      certificate: Certificate.fromCertificateArn(this, "Certificate", props.edge.certificate),
      minimumProtocolVersion: SecurityPolicyProtocol.TLS_V1_2_2021,
      httpVersion: HttpVersion.HTTP2_AND_3,
      defaultBehavior: {
        ...shared,
        origin: origin({ readTimeout: apiTimeout }),
        cachePolicy: CachePolicy.CACHING_DISABLED,
        originRequestPolicy: OriginRequestPolicy.ALL_VIEWER_EXCEPT_HOST_HEADER,
      },
      additionalBehaviors: Object.fromEntries(
        props.reads.map((read) => [read.pattern, { ...reading, ...this.policiesOf(read) }]),
      ),
      errorResponses,
      ...(props.webAcl ? { webAclId: props.webAcl } : {}),
      enableLogging: true,
      logBucket: logBucket(this, "Logs", props.settings),
      logFilePrefix: "edge/",
    });
    // The construct has no property for it.
    const resource = this.distribution.node.defaultChild as CfnDistribution;
    resource.addPropertyOverride("DistributionConfig.CacheTagConfig", { HeaderName: cacheTagHeader });
    acknowledge(this.distribution, {
      "AwsSolutions-CFR1": "The catalogue is for readers everywhere.",
      ...(props.webAcl ? {} : { "AwsSolutions-CFR2": "This stage has no firewall by its settings." }),
    });
    new CfnOutput(this, "Target", { value: this.distribution.domainName }).overrideLogicalId("EdgeTarget");
    new CfnOutput(this, "Id", { value: this.distribution.distributionId }).overrideLogicalId("EdgeDistribution");
  }

  /** CloudFront allows an account 20 policies of a kind, so reads with the same parameters share one. */
  private policiesOf({
    parameters,
    isCached,
  }: PublicRead): Pick<BehaviorOptions, "cachePolicy" | "originRequestPolicy"> {
    if (isCached) return { cachePolicy: this.cachePolicyFor(parameters) };
    const id = ["Volatile", ...parameters].join("-");
    return { cachePolicy: CachePolicy.CACHING_DISABLED, originRequestPolicy: this.originRequestPolicy(id, parameters) };
  }

  private cachePolicyFor(parameters: readonly string[]): CachePolicy {
    const id = ["Kept", ...parameters].join("-");
    const existing = this.node.tryFindChild(id);
    if (existing instanceof CachePolicy) return existing;
    return new CachePolicy(this, id, {
      comment: parameters.join(", ") || "no parameters",
      ...(parameters.length > 0 ? { queryStringBehavior: CacheQueryStringBehavior.allowList(...parameters) } : {}),
      // The origin compresses with gzip only.
      enableAcceptEncodingGzip: true,
      // The response's Cache-Control decides how long it is cached; without one it is not cached.
      minTtl: Duration.seconds(0),
      defaultTtl: Duration.seconds(0),
      maxTtl: Duration.days(2),
    });
  }

  /** What is sent to the origin in addition to the cache key. */
  private originRequestPolicy(id: string, parameters: readonly string[]): OriginRequestPolicy {
    const existing = this.node.tryFindChild(id);
    if (existing instanceof OriginRequestPolicy) return existing;
    return new OriginRequestPolicy(this, id, {
      originRequestPolicyName: `${this.#prefix}-${id}`,
      ...(parameters.length > 0
        ? { queryStringBehavior: OriginRequestQueryStringBehavior.allowList(...parameters) }
        : {}),
    });
  }

  /**
   * CORS headers for responses that are not a function's: gateway responses and CloudFront's own errors. Cache tags are for
   * CloudFront alone.
   */
  private headersPolicy(): ResponseHeadersPolicy {
    return new ResponseHeadersPolicy(this, "EveryPage", {
      responseHeadersPolicyName: `${this.#prefix}-every-page`,
      removeHeaders: [cacheTagHeader],
      corsBehavior: {
        accessControlAllowOrigins: ["*"],
        accessControlAllowMethods: ["GET", "HEAD"],
        accessControlAllowHeaders: ["*"],
        accessControlExposeHeaders: exposedHeaders.split(", "),
        accessControlAllowCredentials: false,
        originOverride: false,
      },
    });
  }
}
