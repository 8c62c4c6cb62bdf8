import type { StageSettings } from "./schema.ts";

type Traffic = Pick<StageSettings, "millionRequestsAMonth" | "edge">;

const usualRequestsAnHour = ({ millionRequestsAMonth }: Traffic): number => (millionRequestsAMonth * 1_000_000) / 730;

/** How many requests CloudFront may get in an hour before an alarm fires: the busiest seconds have three times the usual. */
export const cdnRequestsAnHour = (stage: Traffic): number => Math.round(10 * usualRequestsAnHour(stage));

/** Fewer than these cost less than $10 a day, however few are usual. */
const requestsMin = 10_000;

/**
 * The same of API Gateway in five minutes. Of a stage with an edge it gets a part (infra/costs.md): as many as all
 * visitors send means that the edge does not cache.
 */
export const requestsIn5Minutes = (stage: Traffic): number =>
  Math.max(requestsMin, Math.round(((stage.edge ? 1 : 10) * usualRequestsAnHour(stage)) / 12));
