/** A list price of AWS in dollars per unit (`M` is a million), without free tiers, and its source. */
const aws = (dollars: number, per: string, what: string, source: string) => ({ dollars, per, what, source });

/** A price that another source quotes from AWS. */
const quoted = (...[dollars, per, what, by]: Parameters<typeof aws>) => aws(dollars, per, what, `not AWS: ${by}`);

export const pricesOf = "us-east-1, looked up on 2026-11-22";

const toolkit = "github.com/aws/agent-toolkit-for-aws";
const watching = "cloudburn.io, February 2026";

export const prices = {
  gateway: aws(3.5, "M", "API Gateway, requests to a REST API", "whitepaper on private APIs"),
  sent: quoted(0.09, "GB", "data that API Gateway sends to the internet", "apigatewaycost.com/aws"),
  edgeRequest: quoted(1, "M", "CloudFront, requests", "wring.co"),
  edgeSent: aws(0.085, "GB", "CloudFront, data sent in Europe and America", "aws.amazon.com/cloudfront/pricing"),
  edgeFunction: quoted(0.1, "M", "CloudFront, calls of a function of its own", "cur.vantage.sh"),
  lambdaRequest: aws(0.2, "M", "Lambda, requests", "aws.amazon.com/lambda/pricing"),
  lambdaTime: quoted(13.3334, "M GB-s", "Lambda on arm64, memory for a time", "cloudchipr.com"),
  dataApi: quoted(0.35, "M", "Data API, requests, by 32 KB", "several repositories"),
  secretRead: quoted(5, "M", "Secrets Manager, reads of a secret", "hivebook.wiki"),
  secret: quoted(0.4, "month", "Secrets Manager, a secret", "hivebook.wiki"),
  key: aws(1, "month", "KMS, a key", "aws.amazon.com/kms/pricing"),
  capacity: aws(0.12, "ACU-h", "Aurora Serverless v2, capacity", toolkit),
  storage: aws(0.1, "GB-month", "Aurora Standard, storage", toolkit),
  io: aws(0.2, "M", "Aurora Standard, reads and writes of storage", toolkit),
  logs: quoted(0.5, "GB", "CloudWatch Logs, taken in", watching),
  logStorage: quoted(0.03, "GB-month", "CloudWatch Logs, kept", watching),
  alarm: quoted(0.1, "month", "CloudWatch, a metric of an alarm", watching),
  metric: quoted(0.3, "month", "CloudWatch, a metric read from logs", watching),
  dashboard: quoted(3, "month", "CloudWatch, a dashboard", watching),
  trace: aws(5, "M", "X-Ray, traces", "aws.amazon.com/xray/pricing"),
  firewall: quoted(5, "month", "WAF, a web ACL", "c3x.dev"),
  firewallRule: quoted(1, "month", "WAF, a rule", "c3x.dev"),
  firewallRequest: quoted(0.6, "M", "WAF, requests", "c3x.dev"),
};
