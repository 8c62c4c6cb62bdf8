import { GatewayError } from "./gateway-responses.ts";

/** A usage plan with its API keys (API Gateway, "Usage plans and API keys for REST APIs"). */
export interface UsagePlan {
  readonly keys: readonly string[];
  /** For each key: requests a second, and how many at once (API Gateway, "Throttle requests to your REST APIs"). */
  readonly throttle?: { readonly rate: number; readonly burst: number };
}

/**
 * Admits requests to methods that need a key. One without a key of the plan is answered as INVALID_API_KEY, one above
 * the key's throttle as THROTTLED. API Gateway counts by token buckets.
 */
export function admission({ keys, throttle }: UsagePlan): (key: string | undefined) => void {
  const buckets = new Map(keys.map((key) => [key, { tokens: throttle?.burst ?? 0, at: performance.now() }]));
  return (key) => {
    const bucket = buckets.get(key ?? "");
    if (!bucket) throw new GatewayError("INVALID_API_KEY");
    if (!throttle) return;
    const now = performance.now();
    bucket.tokens = Math.min(throttle.burst, bucket.tokens + ((now - bucket.at) / 1_000) * throttle.rate);
    bucket.at = now;
    if (bucket.tokens < 1) throw new GatewayError("THROTTLED");
    bucket.tokens -= 1;
  };
}
