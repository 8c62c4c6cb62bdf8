import { Duration } from "aws-cdk-lib";
import * as cloudfront from "aws-cdk-lib/aws-cloudfront";
import { HttpOrigin, type HttpOriginProps } from "aws-cdk-lib/aws-cloudfront-origins";
import { Construct } from "constructs";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { cacheTagHeader, exposedHeaders } from "../../../lib/contract/headers.ts";
import { type PublicRead, publicReads } from "../../api/public-reads.ts";
import type { EdgeSettings } from "../../settings/schema.ts";
import { stageName } from "../api/rest-api.ts";
import { logBucket } from "../shared/log-bucket.ts";
import type { Stage } from "../shared/stage.ts";
import { makeDistribution } from "../sites/distribution.ts";
import { viewerRequest } from "./viewer-request.ts";

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
const errorResponses: cloudfront.ErrorResponse[] = [
  ...uncachedErrors.map((httpStatus) => ({ httpStatus, ttl: Duration.seconds(0) })),
  // CloudFront itself returns 504 when the origin does not respond. Functions return 503 before: one that is refused for
  // want of concurrency must not make CloudFront refuse all others of its path, among them those of the panel.
  { httpStatus: 504, ttl: silentOriginTtl },
];

/**
 * CloudFront in front of the API: it caches public reads and forwards everything else.
 * @param host API Gateway's own, where every path begins with the stage's name
 * @param webAcl the ARN of the web ACL of a stage with a firewall
 */
export function makeEdge(
  { stack, settings, unique }: Stage,
  edge: EdgeSettings,
  host: string,
  keys: Readonly<Record<"visitors" | "panel", string>>,
  webAcl: string | undefined,
): cloudfront.Distribution {
  const scope = new Construct(stack, "Edge");
  const origin = (key: string, timeouts: HttpOriginProps) =>
    new HttpOrigin(host, {
      originPath: `/${stageName}`,
      keepaliveTimeout,
      // A visitor's own header of this name does not reach the API (CloudFront, "Add custom headers to origin requests").
      customHeaders: { "x-api-key": key },
      ...timeouts,
    });
  const shared = {
    // Other methods than GET are forwarded, so that the API itself returns 404.
    allowedMethods: cloudfront.AllowedMethods.ALLOW_ALL,
    viewerProtocolPolicy: cloudfront.ViewerProtocolPolicy.HTTPS_ONLY,
  };
  const reading = {
    ...shared,
    origin: origin(keys.visitors, { readTimeout, connectionAttempts: 1, connectionTimeout: Duration.seconds(3) }),
    responseHeadersPolicy: headersPolicy(scope, unique),
  };
  const associate = (id: string, name: string, comment: string, hasPages: boolean) => [
    {
      eventType: cloudfront.FunctionEventType.VIEWER_REQUEST,
      function: new cloudfront.Function(scope, id, {
        functionName: `${unique}-${name}`,
        comment,
        runtime: cloudfront.FunctionRuntime.JS_2_0,
        code: cloudfront.FunctionCode.fromInline(viewerRequest(settings.allowedOrigins, hasPages)),
      }),
    },
  ];
  const ofLists = associate("ToWholeLists", "whole-lists", "Sends requests for whole lists to their functions", true);
  const ofRecords = associate("Origins", "origins", "Distinguishes the origins of panels from all others", false);
  const distribution = makeDistribution(scope, {
    content: "API",
    domain: edge.domain,
    certificateArn: edge.certificate,
    hasAlias: settings.hasAliases,
    locations: settings.priceClass,
    webAcl,
    defaultBehavior: {
      ...shared,
      origin: origin(keys.panel, { readTimeout: apiTimeout }),
      cachePolicy: cloudfront.CachePolicy.CACHING_DISABLED,
      originRequestPolicy: cloudfront.OriginRequestPolicy.ALL_VIEWER_EXCEPT_HOST_HEADER,
    },
    additionalBehaviors: Object.fromEntries(
      publicReads(endpoints).map((read) => [
        read.pattern,
        {
          ...reading,
          ...policiesOf(scope, unique, read),
          functionAssociations: read.hasPages ? ofLists : ofRecords,
        },
      ]),
    ),
    errorResponses,
    logBucket: logBucket(scope, "Logs", settings),
    logFilePrefix: "edge/",
  });
  // The construct has no property for it.
  const resource = distribution.node.defaultChild as cloudfront.CfnDistribution;
  resource.addPropertyOverride("DistributionConfig.CacheTagConfig", { HeaderName: cacheTagHeader });
  return distribution;
}

/**
 * What is in the cache key, or is sent to the origin without it. CloudFront allows an account 20 policies of a kind, so
 * reads with the same parameters share one.
 */
function policiesOf(scope: Construct, prefix: string, { parameters, isCached }: PublicRead) {
  const id = [isCached ? "Kept" : "Volatile", ...parameters].join("-");
  const existing = scope.node.tryFindChild(id);
  const isAny = parameters.length > 0;
  if (!isCached) {
    const originRequestPolicy =
      (existing as cloudfront.OriginRequestPolicy | undefined) ??
      new cloudfront.OriginRequestPolicy(scope, id, {
        originRequestPolicyName: `${prefix}-${id}`,
        headerBehavior: cloudfront.OriginRequestHeaderBehavior.allowList("Origin"),
        ...(isAny ? { queryStringBehavior: cloudfront.OriginRequestQueryStringBehavior.allowList(...parameters) } : {}),
      });
    return { cachePolicy: cloudfront.CachePolicy.CACHING_DISABLED, originRequestPolicy };
  }
  const cachePolicy =
    (existing as cloudfront.CachePolicy | undefined) ??
    new cloudfront.CachePolicy(scope, id, {
      comment: parameters.join(", ") || "no parameters",
      // A panel's, or one value for all others (viewer-request.ts).
      headerBehavior: cloudfront.CacheHeaderBehavior.allowList("Origin"),
      ...(isAny ? { queryStringBehavior: cloudfront.CacheQueryStringBehavior.allowList(...parameters) } : {}),
      // The origin compresses with gzip only.
      enableAcceptEncodingGzip: true,
      // The response's Cache-Control decides how long it is cached; without one it is not cached.
      minTtl: Duration.seconds(0),
      defaultTtl: Duration.seconds(0),
      maxTtl: Duration.days(2),
    });
  return { cachePolicy };
}

/**
 * CORS headers for responses that are not a function's: gateway responses and CloudFront's own errors. Cache tags are for
 * CloudFront alone.
 */
const headersPolicy = (scope: Construct, prefix: string): cloudfront.ResponseHeadersPolicy =>
  new cloudfront.ResponseHeadersPolicy(scope, "EveryPage", {
    responseHeadersPolicyName: `${prefix}-every-page`,
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
