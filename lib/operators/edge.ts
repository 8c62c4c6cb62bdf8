import { randomUUID } from "node:crypto";
import { CloudFrontClient, CreateInvalidationCommand } from "@aws-sdk/client-cloudfront";
import { type AttemptOptions, isFault, retry, timeouts } from "../aws/retry.ts";

/** The SDK makes one attempt only, as for the Data API (lib/data-api/client.ts). */
const client = new CloudFrontClient({ maxAttempts: 1, requestHandler: timeouts });

/** The edge of this stage, or undefined. */
export const distribution = process.env.API_DISTRIBUTION;

/** More tags than that are invalidated as everything, which is one path. */
export const tagsMax = 50;
/** The tag of a transaction that changed too much for single tags (lib/migrations/tables). */
const everyTag = "everything";
export const everything = ["/*"];

/** What CloudFront calls tags: `#contributor-5`. */
export const itemsOf = (tags: ReadonlySet<string>): readonly string[] =>
  tags.size > tagsMax || tags.has(everyTag) ? everything : [...tags].sort().map((tag) => `#${tag}`);

/** CloudFront has too many invalidations or requests at once. */
const refusals = new Set(["TooManyInvalidationsInProgress", "Throttling"]);

const mayBeAcceptedLater = (error: unknown): boolean =>
  isFault(error) || (error instanceof Error && refusals.has(error.name));

/**
 * Invalidates paths, or tags. When CloudFront refuses or does not respond, it is asked again with the same reference, by
 * which it knows a request that it has already accepted.
 * @throws {Unavailable} when it has not accepted them before the deadline
 */
export async function invalidate(
  DistributionId: string | undefined,
  items: readonly string[],
  deadline: number,
  CallerReference: string = randomUUID(),
): Promise<void> {
  const Paths = { Quantity: items.length, Items: [...items] };
  const input = { DistributionId, InvalidationBatch: { CallerReference, Paths } };
  const attempt = (options?: AttemptOptions) => client.send(new CreateInvalidationCommand(input), options);
  await retry(attempt, mayBeAcceptedLater, deadline);
}
