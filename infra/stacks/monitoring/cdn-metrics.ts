import { MathExpression, Metric, Stats } from "aws-cdk-lib/aws-cloudwatch";
import type { StageSettings } from "../../settings/schema.ts";

/** The only region that has CloudFront's metrics. Alarms on them must be there, dashboards need not. */
export const cdnRegion = "us-east-1";

/** What a distribution of CloudFront is for: the API, or the images. */
export type DistributionName = "edge" | "images";

/** The distributions of a stage with these settings. */
export const distributionsOf = ({ edge, uploads }: StageSettings): DistributionName[] => [
  ...(edge ? (["edge"] as const) : []),
  ...(uploads ? (["images"] as const) : []),
];

/** The outputs of a stage's stack that name its distributions. */
export const distributionOutputs = { edge: "EdgeDistribution", images: "ImageDistribution" } as const;

/** The ids of a stage's distributions. */
export type DistributionIds = ReadonlyMap<DistributionName, string>;

export type CdnMetricName = "Requests" | "BytesDownloaded" | "5xxErrorRate";

/** A metric of a distribution. Requests and bytes are sums; the rate is in percent of all requests. */
export const cdnMetric = (distributionId: string, metricName: CdnMetricName): Metric =>
  new Metric({
    namespace: "AWS/CloudFront",
    metricName,
    dimensionsMap: { DistributionId: distributionId, Region: "Global" },
    statistic: metricName === "5xxErrorRate" ? Stats.AVERAGE : Stats.SUM,
    region: cdnRegion,
  });

/** The web ACLs before a stage's distributions. One stands before both, but flat-rate plans need one for each. */
export function webAclsOf(settings: StageSettings): DistributionName[] {
  const distributions = distributionsOf(settings);
  if (!settings.firewall) return [];
  return settings.firewall.flatRatePlan ? distributions : distributions.slice(0, 1);
}

/**
 * The name of a web ACL, also in its metrics.
 * @param prefix of global names
 */
export const webAclName = (prefix: string, before: DistributionName) => `${prefix}-${before}`;

/** The requests that a web ACL blocked. Before CloudFront these metrics have no dimension `Region`. */
export const blockedRequests = (webAcl: string): Metric =>
  new Metric({
    namespace: "AWS/WAFV2",
    metricName: "BlockedRequests",
    dimensionsMap: { WebACL: webAcl, Rule: "ALL" },
    statistic: Stats.SUM,
    region: cdnRegion,
  });

/** The same for each rule of the web ACL, and for all of them; rules that label count, and others then block by the label. */
export const blockedByRule = (webAcl: string): MathExpression =>
  new MathExpression({
    label: "",
    expression: `SEARCH('{AWS/WAFV2,Rule,WebACL} MetricName=("BlockedRequests" OR "CountedRequests") WebACL="${webAcl}"', 'Sum', 300)`,
    searchRegion: cdnRegion,
  });

/** The sum of metrics of which some may have no data, by what they are of. */
export const sumOf = (label: string, metrics: readonly (readonly [name: string, metric: Metric])[]): MathExpression =>
  new MathExpression({
    label,
    expression: metrics.map(([name]) => `FILL(${name}, 0)`).join(" + "),
    usingMetrics: Object.fromEntries(metrics),
  });
