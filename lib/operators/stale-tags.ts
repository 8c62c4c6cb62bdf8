import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/mini";
import { Unavailable } from "../aws/retry.ts";
import { execute } from "../data-api/client.ts";
import { text } from "../data-api/read.ts";
import * as tags from "../queries/stale-tags.ts";
import { everything, invalidate, itemsOf, tagsMax } from "./edge.ts";
import type { OperatorContext } from "./operator-function.ts";

/**
 * A tag is invalidated so long after it was found: a response that was on its way when the change was committed has
 * reached the edge by then. The edge keeps no response for long that took more than half of that (lib/http/headers.ts).
 */
export const graceInMilliseconds = 1_000;

const attemptInMilliseconds = 3_000;

/**
 * It is extended before each attempt. Without the two seconds for the database, whose responses may take long on a busy
 * day, another run would pay for the same tags before this one has deleted them.
 */
export const leaseInMilliseconds = graceInMilliseconds + attemptInMilliseconds + 2_000;

/** Beyond the budget tags are gathered for so long. */
const gatheringInSeconds = 600;

const lookSchema = z.object({
  isMine: z.boolean(),
  snapshot: z.string(),
  tags: z.array(z.string()),
  oldestInSeconds: z.nullable(z.number()),
  /** Invalidated today, for the budget. */
  paths: z.nullable(z.number()),
  lastInSeconds: z.nullable(z.number()),
});

/**
 * Invalidates the tags of what has changed, each once: it reads them, waits for the grace, and deletes exactly these after
 * CloudFront has accepted them. So a run that breaks off leaves them to the next one. Only one run at a time does so; the
 * others leave the work to it.
 * @param budget paths a day
 * @returns what was invalidated
 */
export async function invalidateStaleTags(
  budget: number,
  { deadline, log }: OperatorContext,
): Promise<ReadonlySet<string>> {
  const run = randomUUID();
  const invalidated = new Set<string>();
  // An invalidation that CloudFront has not accepted yet: by its reference CloudFront knows a repeated request.
  let batch: { items: readonly string[]; reference: string; snapshot: string } | undefined;
  let wasWaiting = false;
  for (;;) {
    const [row = []] = await execute(tags.look(run, tagsMax + 1, leaseInMilliseconds), deadline);
    const { isMine, snapshot, ...stale } = lookSchema.parse(JSON.parse(text(row, 0)));
    const isWaiting = stale.tags.length > 0;
    if (!isMine || !(isWaiting || wasWaiting)) return invalidated;
    // After the last tag it looks once more, at once: one may have come before it gave back the lease.
    wasWaiting = isWaiting;
    if (!isWaiting) continue;
    const pathsToday = stale.paths ?? 0;
    const isOverBudget = pathsToday >= budget;
    const level = isOverBudget ? "warn" : "info";
    const facts = { oldestInSeconds: stale.oldestInSeconds, ...(isOverBudget && { isOverBudget, pathsToday }) };
    const isOver = deadline - performance.now() < leaseInMilliseconds;
    const lastInSeconds = stale.lastInSeconds ?? Number.POSITIVE_INFINITY;
    const isGathering = isOverBudget && lastInSeconds < gatheringInSeconds && !batch;
    if (isOver || isGathering) {
      log({ isWaiting, ...facts }, level);
      await execute(tags.release(run), deadline);
      if (batch) throw new Unavailable("CloudFront did not accept an invalidation");
      return invalidated;
    }
    if (!batch) {
      const items = isOverBudget ? everything : itemsOf(new Set(stale.tags));
      batch = { items, reference: randomUUID(), snapshot };
      await sleep(graceInMilliseconds);
    }
    const startedAt = performance.now();
    const { items, reference } = batch;
    if (!(await isAccepted(items, reference))) continue;
    await execute(tags.settle(batch.snapshot, items.length), deadline);
    for (const item of items) invalidated.add(item);
    log({ items, paths: items.length, milliseconds: Math.round(performance.now() - startedAt), ...facts }, level);
    batch = undefined;
  }
}

async function isAccepted(items: readonly string[], reference: string): Promise<boolean> {
  try {
    await invalidate(items, performance.now() + attemptInMilliseconds, reference);
    return true;
  } catch (error) {
    if (error instanceof Unavailable) return false;
    throw error;
  }
}
