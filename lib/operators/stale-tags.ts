import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/mini";
import { Unavailable } from "../aws/retry.ts";
import { execute, integer, integerOrNull, text } from "../data-api/client.ts";
import * as tags from "../queries/stale-tags.ts";
import { distribution, everything, invalidate, itemsOf, tagsMax } from "./edge.ts";
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

/** An invalidation that CloudFront has not accepted yet: by its reference CloudFront knows a repeated request. */
interface Batch {
  readonly items: readonly string[];
  readonly reference: string;
  readonly snapshot: string;
}

/**
 * Invalidates the tags of what has changed, each once: it reads the tags, waits until they may be invalidated, and
 * deletes exactly these after CloudFront has accepted them, until there are none. A run that breaks off leaves them to
 * the next one. Only one run at a time does so; the others leave the work to it.
 * @param budget paths a day
 * @returns what was invalidated
 */
export async function invalidateStaleTags(
  budget: number,
  { deadline, log }: OperatorContext,
): Promise<ReadonlySet<string>> {
  const run = randomUUID();
  const invalidated = new Set<string>();
  let batch: Batch | undefined;
  let wasWaiting = false;
  for (;;) {
    const stale = await look(run, deadline);
    const isWaiting = stale.tags.size > 0;
    if (!stale.isMine || !(isWaiting || wasWaiting)) return invalidated;
    // After the last tag it looks once more, at once: one may have come before it gave back the lease.
    wasWaiting = isWaiting;
    if (!isWaiting) continue;
    const isOverBudget = stale.paths >= budget;
    const level = isOverBudget ? "warn" : "info";
    const facts = {
      oldestInSeconds: stale.oldestInSeconds,
      ...(isOverBudget ? { isOverBudget, pathsToday: stale.paths } : {}),
    };
    const isOver = deadline - performance.now() < leaseInMilliseconds;
    const isGathering = isOverBudget && stale.lastInSeconds < gatheringInSeconds && !batch;
    if (isOver || isGathering) {
      log({ isWaiting, ...facts }, level);
      await execute(tags.release(run), deadline);
      if (batch) throw new Unavailable("CloudFront did not accept an invalidation");
      return invalidated;
    }
    await sleep(graceInMilliseconds);
    const items = isOverBudget ? everything : itemsOf(stale.tags);
    batch ??= { items, reference: randomUUID(), snapshot: stale.snapshot };
    const startedAt = performance.now();
    if (!(await isAccepted(batch))) continue;
    await execute(tags.settle(batch.snapshot, batch.items.length), deadline);
    for (const item of batch.items) invalidated.add(item);
    const milliseconds = Math.round(performance.now() - startedAt);
    log({ items: batch.items, paths: batch.items.length, milliseconds, ...facts }, level);
    batch = undefined;
  }
}

async function isAccepted({ items, reference }: Batch): Promise<boolean> {
  try {
    await invalidate(distribution, items, performance.now() + attemptInMilliseconds, reference);
    return true;
  } catch (error) {
    if (error instanceof Unavailable) return false;
    throw error;
  }
}

const listSchema = z.array(z.string());

async function look(run: string, deadline: number) {
  const [row = []] = await execute(tags.look(run, tagsMax + 1, leaseInMilliseconds), deadline);
  return {
    isMine: integer(row, 0) === 1,
    snapshot: text(row, 1),
    tags: new Set(listSchema.parse(JSON.parse(text(row, 2)))),
    oldestInSeconds: integerOrNull(row, 3) ?? 0,
    /** Invalidated today, for the budget. */
    paths: integerOrNull(row, 4) ?? 0,
    lastInSeconds: integerOrNull(row, 5) ?? Number.POSITIVE_INFINITY,
  };
}
