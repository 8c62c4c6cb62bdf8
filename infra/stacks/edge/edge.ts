import { CfnOutput, Duration } from "aws-cdk-lib";
import { Certificate } from "aws-cdk-lib/aws-certificatemanager";
import {
  AllowedMethods,
  type BehaviorOptions,
  CachePolicy,
  CacheQueryStringBehavior,
  Function as CloudFrontFunction,
  Distribution,
  type ErrorResponse,
  FunctionCode,
  FunctionEventType,
  FunctionRuntime,
  HttpVersion,
  OriginRequestHeaderBehavior,
  OriginRequestPolicy,
  OriginRequestQueryStringBehavior,
  ResponseHeadersPolicy,
  SecurityPolicyProtocol,
  ViewerProtocolPolicy,
} from "aws-cdk-lib/aws-cloudfront";
import { HttpOrigin, type HttpOriginProps } from "aws-cdk-lib/aws-cloudfront-origins";
import { Secret } from "aws-cdk-lib/aws-secretsmanager";
import { Construct } from "constructs";
import { exposedHeaders } from "../../../lib/contract/headers.ts";
import type { PublicRead } from "../../api/public-reads.ts";
import { acknowledge } from "../shared/acknowledge.ts";
import type { LogSettings } from "../shared/log.ts";
import { logBucket } from "../shared/log-bucket.ts";

export interface EdgeProps extends LogSettings {
  readonly domain: string;
  /** CloudFront accepts certificates from us-east-1 only. */
  readonly certificateArn: string;
  /** The API under API Gateway's own domain, where every path begins with the stage's name. */
  readonly api: { readonly host: string; readonly stageName: string };
  readonly reads: readonly PublicRead[];
  /** Whether it sends the visitor's address to the origin, where a firewall needs it. */
  readonly sendsAddresses: boolean;
}

/** The headers that the edge adds to requests. By them the firewall recognises the edge and the visitor's address. */
export interface EdgeHeaders {
  /** The header that holds the secret; CloudFront replaces one that a visitor sends. */
  readonly secretHeader: string;
  readonly secret: string;
  /** The header that holds the visitor's address. */
  readonly addressHeader: string;
}

const secretHeader = "X-Colophon-Edge";
const addressHeader = "X-Colophon-Visitor";

/**
 * How long a visitor waits when the origin does not answer: with `stale-if-error` CloudFront serves its stale copy only
 * after the last attempt. The functions of public reads give up before, and answer 503 (lib/retry.ts).
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
  // CloudFront itself answers 504 when the origin does not answer. Functions answer 503 before: one that is refused for
  // want of concurrency must not make CloudFront refuse all others of its path, among them those of the panel.
  { httpStatus: 504, ttl: silentOriginTtl },
];

/** CloudFront in front of the API: it caches public reads and forwards everything else. */
export class Edge extends Construct {
  readonly distribution: Distribution;
  readonly headers: EdgeHeaders | undefined;

  constructor(scope: Construct, id: string, props: EdgeProps) {
    super(scope, id);
    this.headers = props.sendsAddresses ? { secretHeader, secret: this.makeSecret(), addressHeader } : undefined;
    const origin = (timeouts: HttpOriginProps) =>
      new HttpOrigin(props.api.host, {
        originPath: `/${props.api.stageName}`,
        keepaliveTimeout,
        ...(this.headers ? { customHeaders: { [secretHeader]: this.headers.secret } } : {}),
        ...timeouts,
      });
    const shared = {
      // Other methods than GET are forwarded, so that the API itself answers 404.
      allowedMethods: AllowedMethods.ALLOW_ALL,
      viewerProtocolPolicy: ViewerProtocolPolicy.HTTPS_ONLY,
      ...this.addressFunction(),
    };
    const reading = {
      ...shared,
      origin: origin({ readTimeout, connectionAttempts: 1, connectionTimeout: Duration.seconds(3) }),
      responseHeadersPolicy: this.corsPolicy(),
    };
    this.distribution = new Distribution(this, "Distribution", {
      comment: `Colophon at ${props.domain}`,
      domainNames: [props.domain],
      certificate: Certificate.fromCertificateArn(this, "Certificate", props.certificateArn),
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
      enableLogging: true,
      logBucket: logBucket(this, "Logs", props),
      logFilePrefix: "edge/",
    });
    acknowledge(this.distribution, {
      "AwsSolutions-CFR1": "The catalogue is for readers everywhere.",
      "AwsSolutions-CFR2":
        "The firewall stands before API Gateway, which can be reached without CloudFront as well. It counts by the visitor's own address, and what CloudFront answers from its cache needs no protection.",
    });
    new CfnOutput(this, "Target", { value: this.distribution.domainName }).overrideLogicalId("EdgeTarget");
    new CfnOutput(this, "Id", { value: this.distribution.distributionId }).overrideLogicalId("EdgeDistribution");
  }

  /** CloudFront allows an account 20 policies of a kind, so reads with the same parameters share one. */
  private policiesOf({
    parameters,
    isCached,
  }: PublicRead): Pick<BehaviorOptions, "cachePolicy" | "originRequestPolicy"> {
    if (isCached) {
      const originRequestPolicy = this.headers && this.originRequestPolicy("Address", []);
      return { cachePolicy: this.cachePolicyFor(parameters), ...(originRequestPolicy ? { originRequestPolicy } : {}) };
    }
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
      // The answer's Cache-Control decides how long it is cached; without one it is not cached.
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
      ...(this.headers ? { headerBehavior: OriginRequestHeaderBehavior.allowList(this.headers.addressHeader) } : {}),
      ...(parameters.length > 0
        ? { queryStringBehavior: OriginRequestQueryStringBehavior.allowList(...parameters) }
        : {}),
    });
  }

  /** CORS headers for answers that are not a function's: gateway responses and CloudFront's own errors. */
  private corsPolicy(): ResponseHeadersPolicy {
    return new ResponseHeadersPolicy(this, "EveryPage", {
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

  /**
   * A CloudFront function that sends the visitor's address. CloudFront's own header has a port, which WAF cannot read.
   */
  private addressFunction(): Pick<BehaviorOptions, "functionAssociations"> {
    if (!this.headers) return {};
    const tell = new CloudFrontFunction(this, "TellAddress", {
      comment: "Tells the firewall the visitor's address",
      runtime: FunctionRuntime.JS_2_0,
      code: FunctionCode.fromInline(
        [
          "function handler(event) {",
          `  event.request.headers["${addressHeader.toLowerCase()}"] = { value: event.viewer.ip };`,
          "  return event.request;",
          "}",
        ].join("\n"),
      ),
    });
    return { functionAssociations: [{ function: tell, eventType: FunctionEventType.VIEWER_REQUEST }] };
  }

  /** A dynamic reference, which CloudFormation resolves: the template does not contain the secret. */
  private makeSecret(): string {
    const secret = new Secret(this, "Secret", {
      description: "By which the firewall knows requests that came through CloudFront",
      generateSecretString: { passwordLength: 40, excludePunctuation: true },
    });
    acknowledge(secret, {
      "AwsSolutions-SMG4":
        "CloudFront and the firewall learn it when the stack is deployed. It opens nothing: who knew it could have requests counted for another address.",
    });
    return secret.secretValue.unsafeUnwrap();
  }
}
