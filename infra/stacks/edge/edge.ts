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
import type { PublicRead } from "../../public-reads.ts";
import { acknowledge } from "../shared/acknowledge.ts";
import { type LogKeeping, logBucket } from "../shared/log-bucket.ts";

export interface EdgeProps extends LogKeeping {
  readonly domain: string;
  /** In us-east-1, where CloudFront looks for it. */
  readonly certificateArn: string;
  /** The API under API Gateway's own domain, where the stage's name stands before every path. */
  readonly api: { readonly host: string; readonly stageName: string };
  readonly reads: readonly PublicRead[];
  /** Whether a firewall behind it has to know the addresses of visitors. */
  readonly tellsAddresses: boolean;
}

/** By what the firewall knows a request that came through the edge, and whose it is. */
export interface EdgeMark {
  /** The header that holds the secret; CloudFront puts its own in the place of one that a visitor sends. */
  readonly secretHeader: string;
  readonly secret: string;
  /** The header that holds the visitor's address. */
  readonly addressHeader: string;
}

const secretHeader = "X-Colophon-Edge";
const addressHeader = "X-Colophon-Visitor";

/**
 * What a visitor waits for when the origin is silent: with `stale-if-error` CloudFront shows what it has only after the
 * last attempt. Functions themselves are more patient; but by then a page has been given up.
 */
const readTimeout = Duration.seconds(8);
/** So long it then shows what it has without asking again, or tells those for whom there is nothing that it failed. */
const silenceKept = Duration.seconds(30);
/** Longer than API Gateway waits for a function (29 s), and than functions leave a stream idle. */
const passingTimeout = Duration.seconds(60);
/** TLS connections to the origin are dear, and API Gateway keeps idle ones longer than this. */
const keepaliveTimeout = Duration.seconds(60);

/** Those whose least time in the cache can be set (CloudFront, "Error caching minimum TTL"); without it they stay 10 s. */
const errors = [400, 403, 404, 405, 414, 500, 501, 502, 503];
const errorResponses: ErrorResponse[] = [
  ...errors.map((httpStatus) => ({ httpStatus, ttl: Duration.seconds(0) })),
  // It is CloudFront's own word for a silent origin: functions give up before API Gateway does, and say 503.
  { httpStatus: 504, ttl: silenceKept },
];

/** CloudFront before the API: public reads come from its cache, everything else passes. */
export class Edge extends Construct {
  readonly distribution: Distribution;
  readonly mark: EdgeMark | undefined;

  constructor(scope: Construct, id: string, props: EdgeProps) {
    super(scope, id);
    this.mark = props.tellsAddresses ? { secretHeader, secret: this.makeSecret(), addressHeader } : undefined;
    const origin = (timeouts: HttpOriginProps) =>
      new HttpOrigin(props.api.host, {
        originPath: `/${props.api.stageName}`,
        keepaliveTimeout,
        ...(this.mark ? { customHeaders: { [secretHeader]: this.mark.secret } } : {}),
        ...timeouts,
      });
    const shared = {
      // What is no GET passes, so that the API itself says that there is no such endpoint.
      allowedMethods: AllowedMethods.ALLOW_ALL,
      viewerProtocolPolicy: ViewerProtocolPolicy.HTTPS_ONLY,
      ...this.tellAddresses(),
    };
    const reading = {
      ...shared,
      origin: origin({ readTimeout, connectionAttempts: 1, connectionTimeout: Duration.seconds(3) }),
      responseHeadersPolicy: this.letEveryPageIn(),
    };
    this.distribution = new Distribution(this, "Distribution", {
      comment: `Colophon at ${props.domain}`,
      domainNames: [props.domain],
      certificate: Certificate.fromCertificateArn(this, "Certificate", props.certificateArn),
      minimumProtocolVersion: SecurityPolicyProtocol.TLS_V1_2_2021,
      httpVersion: HttpVersion.HTTP2_AND_3,
      defaultBehavior: {
        ...shared,
        origin: origin({ readTimeout: passingTimeout }),
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

  /** An account has room for 20 policies of a kind, so reads with the same parameters share theirs. */
  private policiesOf({ parameters, isKept }: PublicRead): Pick<BehaviorOptions, "cachePolicy" | "originRequestPolicy"> {
    if (isKept) {
      const originRequestPolicy = this.mark && this.passOn("Address", []);
      return { cachePolicy: this.keepBy(parameters), ...(originRequestPolicy ? { originRequestPolicy } : {}) };
    }
    const id = ["Volatile", ...parameters].join("-");
    return { cachePolicy: CachePolicy.CACHING_DISABLED, originRequestPolicy: this.passOn(id, parameters) };
  }

  private keepBy(parameters: readonly string[]): CachePolicy {
    const id = ["Kept", ...parameters].join("-");
    const made = this.node.tryFindChild(id);
    if (made instanceof CachePolicy) return made;
    return new CachePolicy(this, id, {
      comment: parameters.join(", ") || "no parameters",
      ...(parameters.length > 0 ? { queryStringBehavior: CacheQueryStringBehavior.allowList(...parameters) } : {}),
      // One form for all who take gzip, which is all that the origin compresses with.
      enableAcceptEncodingGzip: true,
      // The answer says how long it is kept, which is less than two days; what says nothing is not kept.
      minTtl: Duration.seconds(0),
      defaultTtl: Duration.seconds(0),
      maxTtl: Duration.days(2),
    });
  }

  /** What reaches the origin beside the key of the cache. */
  private passOn(id: string, parameters: readonly string[]): OriginRequestPolicy {
    const made = this.node.tryFindChild(id);
    if (made instanceof OriginRequestPolicy) return made;
    return new OriginRequestPolicy(this, id, {
      ...(this.mark ? { headerBehavior: OriginRequestHeaderBehavior.allowList(this.mark.addressHeader) } : {}),
      ...(parameters.length > 0
        ? { queryStringBehavior: OriginRequestQueryStringBehavior.allowList(...parameters) }
        : {}),
    });
  }

  /** For what comes without a function's own headers: refusals of API Gateway, and CloudFront's own errors. */
  private letEveryPageIn(): ResponseHeadersPolicy {
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

  /** CloudFront's own header for it has the port as well, which the firewall cannot read. */
  private tellAddresses(): Pick<BehaviorOptions, "functionAssociations"> {
    if (!this.mark) return {};
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

  /** As CloudFormation resolves it: neither the template nor anybody who sees it knows the secret. */
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
