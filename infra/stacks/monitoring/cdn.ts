import { Duration, Fn, type Stack } from "aws-cdk-lib";
import { MathExpression, Metric, Stats } from "aws-cdk-lib/aws-cloudwatch";
import type { StageSettings } from "../../settings/schema.ts";
import { cdnRequestsAnHour } from "../../settings/traffic.ts";
import { Alarms } from "../shared/alarms.ts";

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

const bytesPerGigabyte = 1_000_000_000;
/** Requests in five minutes below which the rate of failures counts as 0: one failure would be more than 1 %. */
const requestsMin = 100;

/** What visitors lose when a distribution fails, and what to look at first. */
const failing: Readonly<Record<DistributionName, string>> = {
  edge: "Visitors get 5xx responses from the edge, more than one in a hundred: the API fails, and the edge has no old response. See the alarms of the API, and the saved query `errors`.",
  images: "Visitors get no images, but 5xx responses, more than one in a hundred: the bucket fails or is throttled.",
};

/**
 * The alarms on what CloudFront returns to visitors, and on what they cost. CloudFront alone sees the visitors whom it
 * serves from its cache.
 * @param prefix of global names
 * @param stage the stack that has the distributions
 */
export function addCdnAlarms(stack: Stack, prefix: string, settings: StageSettings, stage: Stack): void {
  const { firewall, edge, imageCertificate, cdnGigabytesAnHour } = settings;
  const requestsAnHour = cdnRequestsAnHour(settings);
  const ids = distributionsOf(settings).map(
    // CloudFormation reads it whenever it deploys this stack; a distribution keeps its id as long as it lives.
    (name) => [name, Fn.getStackOutput(stage.stackName, distributionOutputs[name], stage.region)] as const,
  );
  const alarms = new Alarms(stack, "Alarms", { prefix, recipients: settings.alarmRecipient });
  for (const [name, distributionId] of ids) {
    alarms.add(`${name}-failing`, {
      metric: new MathExpression({
        label: "5xx, percent",
        expression: `IF(requests >= ${requestsMin}, rate, 0)`,
        usingMetrics: {
          rate: cdnMetric(distributionId, "5xxErrorRate"),
          requests: cdnMetric(distributionId, "Requests"),
        },
      }),
      impact: failing[name],
    });
  }
  /** The sum over an hour and all distributions. */
  const hourlySum = (metricName: CdnMetricName) => {
    const metrics = ids.map(([name, distributionId]) => [name, cdnMetric(distributionId, metricName)] as const);
    return sumOf(metricName, metrics).with({ period: Duration.hours(1) });
  };
  alarms.add("cdn-bytes", {
    metric: hourlySum("BytesDownloaded"),
    impact: `CloudFront sent ${cdnGigabytesAnHour} GB or more within an hour, for which this account pays: the website has many more visitors, or a client downloads on purpose. The logs of CloudFront say which addresses and URLs.`,
    threshold: cdnGigabytesAnHour * bytesPerGigabyte,
  });
  alarms.add("cdn-requests", {
    metric: hourlySum("Requests"),
    impact: `CloudFront got ${requestsAnHour} requests or more within an hour, for which this account pays: the website has many more visitors, or an attacker floods it. The logs of CloudFront say which addresses and URLs.`,
    threshold: requestsAnHour,
  });
  if (firewall) {
    // Who is blocked for minutes is a reader in trouble, or an attacker; single requests that only attackers send are neither.
    const { blockedRequestsIn5Minutes } = firewall;
    const metrics = webAclsOf(settings).map((each) => [each, blockedRequests(webAclName(prefix, each))] as const);
    alarms.add("firewall-blocking", {
      metric: sumOf("blocked requests", metrics),
      impact: `The firewall blocks ${blockedRequestsIn5Minutes} requests or more in five minutes, for ten minutes: an attacker floods or scans the website, or readers with one address (an office, a website's server) are above the limit and get 429. Its log says which addresses and rules: give readers' addresses to trustedAddresses.`,
      threshold: blockedRequestsIn5Minutes,
      evaluationPeriods: 2,
    });
  }
  alarms.mailExpiry([edge?.certificate, imageCertificate].filter((each) => each !== undefined));
}
