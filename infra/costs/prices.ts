/** What AWS asks for something, as listed; free tiers and discounts for volume are left out. */
export interface Price {
  /** In US dollars. */
  readonly dollars: number;
  /** What that much buys; `M` is a million. */
  readonly per: string;
  readonly what: string;
  /** Where it was read. */
  readonly source: string;
  /** Whether AWS itself is the source; the others quote its price list. Check those before you rely on them. */
  readonly isFromAws: boolean;
}

/** The region of the prices, and the day on which they were looked up. */
export const pricesOf = { region: "us-east-1", day: "2026-11-21" } as const;

const quoted = { isFromAws: false } as const;
const fromAws = { isFromAws: true } as const;

const gatewayPaper = "AWS whitepaper on private APIs";
const auroraToolkit = "github.com/aws/agent-toolkit-for-aws";
const cloudWatchGuide = "cloudburn.io, February 2026";
const wafGuide = "c3x.dev";
const s3Guide = "github.com/flarebyte/learning";

export const prices = {
  restRequest: {
    what: "REST API, requests, by 10 MB of a stream",
    dollars: 3.5,
    per: "M",
    source: `${gatewayPaper}; AWS Compute Blog`,
    ...fromAws,
  },
  httpRequest: {
    what: "HTTP API, requests, by 512 KB",
    dollars: 1,
    per: "M",
    source: gatewayPaper,
    ...fromAws,
  },
  transfer: {
    what: "data sent to the internet",
    dollars: 0.09,
    per: "GB",
    source: "apigatewaycost.com/aws",
    ...quoted,
  },
  lambdaRequest: {
    what: "Lambda, requests",
    dollars: 0.2,
    per: "M",
    source: "aws.amazon.com/lambda/pricing",
    ...fromAws,
  },
  lambdaTime: {
    what: "Lambda on arm64, memory for a time",
    dollars: 13.3334,
    per: "M GB-s",
    source: "cloudchipr.com",
    ...quoted,
  },
  lambdaStream: {
    what: "Lambda, a stream beyond 6 MB",
    dollars: 0.008,
    per: "GB",
    source: "github.com/varuna-v/lambda-response-streaming",
    ...quoted,
  },
  dataApi: {
    what: "Data API, requests, by 32 KB",
    dollars: 0.35,
    per: "M",
    source: "several repositories; the 32 KB github.com/jiegec/kb",
    ...quoted,
  },
  capacity: { what: "Aurora Serverless v2, capacity", dollars: 0.12, per: "ACU-h", source: auroraToolkit, ...fromAws },
  storage: { what: "Aurora Standard, storage", dollars: 0.1, per: "GB-month", source: auroraToolkit, ...fromAws },
  io: {
    what: "Aurora Standard, reads and writes of storage",
    dollars: 0.2,
    per: "M",
    source: auroraToolkit,
    ...fromAws,
  },
  backup: {
    what: "Aurora, backups beyond the database's size",
    dollars: 0.021,
    per: "GB-month",
    source: "not found; London is quoted at $0.022",
    ...quoted,
  },
  secret: {
    what: "Secrets Manager, a secret",
    dollars: 0.4,
    per: "month",
    source: "cloudtoolstack.com, March 2026",
    ...quoted,
  },
  logs: { what: "CloudWatch Logs, taken in", dollars: 0.5, per: "GB", source: cloudWatchGuide, ...quoted },
  logStorage: { what: "CloudWatch Logs, kept", dollars: 0.03, per: "GB-month", source: cloudWatchGuide, ...quoted },
  alarm: { what: "CloudWatch, a metric of an alarm", dollars: 0.1, per: "month", source: cloudWatchGuide, ...quoted },
  metric: { what: "CloudWatch, a metric of one's own", dollars: 0.3, per: "month", source: cloudWatchGuide, ...quoted },
  dashboard: { what: "CloudWatch, a dashboard", dollars: 3, per: "month", source: cloudWatchGuide, ...quoted },
  trace: { what: "X-Ray, traces", dollars: 5, per: "M", source: "aws.amazon.com/xray/pricing", ...fromAws },
  firewall: { what: "WAF, a web ACL", dollars: 5, per: "month", source: wafGuide, ...quoted },
  firewallRule: { what: "WAF, a rule", dollars: 1, per: "month", source: wafGuide, ...quoted },
  firewallRequest: { what: "WAF, requests", dollars: 0.6, per: "M", source: wafGuide, ...quoted },
  put: { what: "S3, objects written", dollars: 5, per: "M", source: s3Guide, ...quoted },
  object: { what: "S3, storage", dollars: 0.023, per: "GB-month", source: s3Guide, ...quoted },
  cdnRequest: { what: "CloudFront, requests", dollars: 1, per: "M", source: "wring.co", ...quoted },
  cdnTransfer: {
    what: "CloudFront, data sent in Europe and America",
    dollars: 0.085,
    per: "GB",
    source: "aws.amazon.com/cloudfront/pricing",
    ...fromAws,
  },
} as const satisfies Record<string, Price>;
