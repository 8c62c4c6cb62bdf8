import { createHash } from "node:crypto";
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
  const policies = policiesOf(scope, unique);
  const functionFor = functionsOf(scope, unique, settings.allowedOrigins);
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
          ...(read.isCached ? policies.kept : policies.volatile),
          functionAssociations: [
            { eventType: cloudfront.FunctionEventType.VIEWER_REQUEST, function: functionFor(read) },
          ],
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

/** What is in the cache key, or is sent to the origin without it: the origin and the query that the function has left. */
function policiesOf(scope: Construct, prefix: string) {
  const cachePolicy = new cloudfront.CachePolicy(scope, "Kept", {
    comment: "The query, and the origin of a panel",
    // A panel's, or one value for all others (viewer-request.ts).
    headerBehavior: cloudfront.CacheHeaderBehavior.allowList("Origin"),
    queryStringBehavior: cloudfront.CacheQueryStringBehavior.all(),
    // The origin compresses with gzip only.
    enableAcceptEncodingGzip: true,
    // The response's Cache-Control decides how long it is cached; without one it is not cached.
    minTtl: Duration.seconds(0),
    defaultTtl: Duration.seconds(0),
    maxTtl: Duration.days(2),
  });
  const originRequestPolicy = new cloudfront.OriginRequestPolicy(scope, "Volatile", {
    originRequestPolicyName: `${prefix}-Volatile`,
    headerBehavior: cloudfront.OriginRequestHeaderBehavior.allowList("Origin"),
    queryStringBehavior: cloudfront.OriginRequestQueryStringBehavior.all(),
  });
  return {
    kept: { cachePolicy },
    volatile: { cachePolicy: cloudfront.CachePolicy.CACHING_DISABLED, originRequestPolicy },
  };
}

/** The function for a read's requests. Reads with the same parameters share one. */
const functionsOf = (scope: Construct, prefix: string, allowedOrigins: readonly string[]) => (read: PublicRead) => {
  const id = [read.hasPages ? "List" : "Record", ...read.parameters].join("-");
  const name = `${prefix}-${createHash("sha256").update(id).digest("hex").slice(0, 8)}`;
  return (
    (scope.node.tryFindChild(id) as cloudfront.Function | undefined) ??
    new cloudfront.Function(scope, id, {
      functionName: name,
      comment: `Leaves the declared parameters, and tells origins of panels${read.hasPages ? " and whole lists" : ""} apart`,
      runtime: cloudfront.FunctionRuntime.JS_2_0,
      code: cloudfront.FunctionCode.fromInline(viewerRequest(allowedOrigins, read)),
    })
  );
};

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
