import { Duration } from "aws-cdk-lib";
import { Metric, Stats } from "aws-cdk-lib/aws-cloudwatch";

/** The only region that has CloudFront's metrics. Alarms on them must be there, dashboards need not. */
export const cdnRegion = "us-east-1";

/** What a distribution of CloudFront is for: the API, or the images. */
export type DistributionName = "edge" | "images";

/** The ids of a stage's distributions. */
export type DistributionIds = ReadonlyMap<DistributionName, string>;

export type CdnMetricName = "Requests" | "BytesDownloaded" | "5xxErrorRate";

/** A metric of a distribution. Requests and bytes are sums; the rate is in percent of all requests. */
export function cdnMetric(distributionId: string, metricName: CdnMetricName, period = Duration.minutes(5)): Metric {
  return new Metric({
    namespace: "AWS/CloudFront",
    metricName,
    dimensionsMap: { DistributionId: distributionId, Region: "Global" },
    statistic: metricName === "5xxErrorRate" ? Stats.AVERAGE : Stats.SUM,
    period,
    region: cdnRegion,
  });
}
