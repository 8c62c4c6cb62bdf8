import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/mini";
import { Unavailable } from "../aws/retry.ts";
import { execute } from "../data-api/client.ts";
import { integer, integerOrNull, text } from "../data-api/read.ts";
import * as tags from "../queries/stale-tags.ts";
import { distribution, everything, invalidate, itemsOf, tagsMax } from "./edge.ts";
import type { OperatorContext } from "./operator-function.ts";

/**
 * A tag is invalidated so long after it was found: a response that was on its way when the change was committed has
 * reached the edge by then. The edge keeps no response for long that took more than half of that (lib/http/headers.ts).
 */
export const graceInMilliseconds = 1_000;
/** It invalidates what it saw two looks ago. */
const pauseInMilliseconds = graceInMilliseconds / 2;

const attemptInMilliseconds = 3_000;

/**
 * It is extended before each attempt. Without the two seconds for the database, whose responses may take long on a busy
 * day, another run would pay for the same tags before this one has deleted them.
 */
export const leaseInMilliseconds = attemptInMilliseconds + 2_000;

/** Beyond the budget tags are gathered for so long. */
const gatheringInSeconds = 600;

/** An invalidation that CloudFront has not accepted yet: by its reference CloudFront knows a repeated request. */
interface Batch {
  readonly items: readonly string[];
  readonly reference: string;
  readonly snapshot: string;
}

/**
 * Invalidates the tags of what has changed, each once. It looks twice a second while there are any, and invalidates
 * those that it has seen a second before. It deletes exactly these, after CloudFront has accepted them: a run that breaks
 * off leaves them to the next one. Only one run at a time does so; the others leave the work to it.
 * @param budget paths a day
 * @returns what was invalidated
 */
export async function invalidateStaleTags(
  budget: number,
  { deadline, log }: OperatorContext,
): Promise<ReadonlySet<string>> {
  const run = randomUUID();
  const invalidated = new Set<string>();
  let [snapshot, next]: [string, string] = [tags.emptySnapshot, tags.emptySnapshot];
  let batch: Batch | undefined;
  let wasWaiting = false;
  for (;;) {
    const stale = await look(run, snapshot, deadline);
    if (!stale.isMine || !(stale.isWaiting || wasWaiting)) return invalidated;
    const isOverBudget = stale.paths >= budget;
    const level = isOverBudget ? "warn" : "info";
    const facts = {
      oldestInSeconds: stale.oldestInSeconds,
      ...(isOverBudget ? { isOverBudget, pathsToday: stale.paths } : {}),
    };
    const isOver = deadline - performance.now() < leaseInMilliseconds;
    const isGathering = isOverBudget && stale.lastInSeconds < gatheringInSeconds && !batch;
    if (stale.isWaiting && (isOver || isGathering)) {
      log({ isWaiting: true, ...facts }, level);
      await execute(tags.release(run), deadline);
      if (batch) throw new Unavailable("CloudFront did not accept an invalidation");
      return invalidated;
    }
    if (stale.tags.size > 0)
      batch ??= { items: isOverBudget ? everything : itemsOf(stale.tags), reference: randomUUID(), snapshot };
    const startedAt = performance.now();
    if (batch && (await isAccepted(batch))) {
      const { items } = batch;
      await execute(tags.settle(batch.snapshot, items.length), deadline);
      for (const item of items) invalidated.add(item);
      log({ items, paths: items.length, milliseconds: Math.round(performance.now() - startedAt), ...facts }, level);
      batch = undefined;
    }
    // After the last tag it looks once more, at once: one may have come before it gave back the lease.
    wasWaiting = stale.isWaiting;
    [snapshot, next] = [next, stale.snapshot];
    if (wasWaiting) await sleep(pauseInMilliseconds);
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

async function look(run: string, snapshot: string, deadline: number) {
  const [row = []] = await execute(tags.look(run, snapshot, tagsMax + 1, leaseInMilliseconds), deadline);
  return {
    isMine: integer(row, 0) === 1,
    isWaiting: integer(row, 1) === 1,
    snapshot: text(row, 2),
    /** What was there two looks ago. */
    tags: new Set(listSchema.parse(JSON.parse(text(row, 3)))),
    oldestInSeconds: integerOrNull(row, 4) ?? 0,
    /** Invalidated today, for the budget. */
    paths: integerOrNull(row, 5) ?? 0,
    lastInSeconds: integerOrNull(row, 6) ?? Number.POSITIVE_INFINITY,
  };
}
