import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/mini";
import { execute } from "../data-api/client.ts";
import { integerOrNull, text } from "../data-api/read.ts";
import * as tags from "../queries/stale-tags.ts";
import { everything, invalidate, itemsOf, tagsMax } from "./edge.ts";
import type { OperatorContext } from "./operator-function.ts";

/**
 * Tags are invalidated once more after this time: an answer that was on its way during the first invalidation may have
 * been cached since. Public reads end within 7 s, and the edge waits for 8 s (lib/retry.ts).
 */
export const againAfterInMilliseconds = 8_000;

/** A run that waits for the second round looks so often for new tags, whose own nudge may have been lost. */
const pauseInMilliseconds = 2_000;
/** New tags are left for so long to the run that was nudged for them. */
const graceInMilliseconds = 1_500;

/** Beyond the budget new tags are gathered for so long. */
const gatheringInSeconds = 600;

interface StaleTags {
  readonly seen: tags.Seen;
  /** Not invalidated yet. */
  readonly fresh: readonly string[];
  /** Invalidated once, and due for the second time. */
  readonly due: readonly string[];
  readonly oldestInSeconds: number;
  /** Until all that were invalidated once are due. */
  readonly waitingInMilliseconds: number;
  /** Invalidated today, for the budget. */
  readonly paths: number;
  readonly lastInSeconds: number;
}

/**
 * Invalidates the tags of what has changed, at once and 8 s later. It marks and deletes exactly the rows that it has
 * read, after CloudFront has accepted them: a run that breaks off leaves them to the next one, and two runs at once
 * invalidate twice.
 * @param budget paths a day
 * @returns what was invalidated
 */
export async function invalidateStaleTags(
  budget: number,
  { deadline, log }: OperatorContext,
): Promise<ReadonlySet<string>> {
  const invalidated = new Set<string>();
  let stale = await read(0, deadline);
  let stayUntil = performance.now() + stale.waitingInMilliseconds;
  for (;;) {
    const isOverBudget = stale.paths >= budget;
    const { fresh, due, items, seen } = isOverBudget ? roundOverBudget(stale) : roundOf(stale);
    const facts = {
      oldestInSeconds: stale.oldestInSeconds,
      ...(isOverBudget ? { isOverBudget, pathsToday: stale.paths } : {}),
    };
    const level = isOverBudget ? "warn" : "info";
    if (items.length > 0) {
      const startedAt = performance.now();
      await invalidate(items, deadline);
      await execute(tags.settle(seen, items.length), deadline);
      for (const item of items) invalidated.add(item);
      log(
        { fresh, due, items, paths: items.length, milliseconds: Math.round(performance.now() - startedAt), ...facts },
        level,
      );
      if (fresh.length > 0) stayUntil = performance.now() + againAfterInMilliseconds;
    } else if (stale.fresh.length > 0) {
      log({ waiting: stale.fresh, ...facts }, level);
    }
    const waiting = stayUntil - performance.now();
    if (waiting <= 0 || stayUntil > deadline) return invalidated;
    await sleep(Math.min(waiting, pauseInMilliseconds));
    stale = await read(graceInMilliseconds, deadline);
  }
}

type Round = Pick<StaleTags, "seen" | "fresh" | "due"> & { readonly items: readonly string[] };

const roundOf = ({ seen, fresh, due }: StaleTags): Round => ({
  seen,
  fresh,
  due,
  items: itemsOf(new Set([...fresh, ...due])),
});

/** Beyond the budget everything is invalidated, for new tags ten minutes after the last time, for due ones when due. */
function roundOverBudget({ seen, fresh, due, lastInSeconds }: StaleTags): Round {
  const gathers = lastInSeconds < gatheringInSeconds;
  const round = gathers ? { seen: { ...seen, addedBy: "-infinity" }, fresh: [], due } : { seen, fresh, due };
  return { ...round, items: round.fresh.length + due.length > 0 ? everything : [] };
}

const listSchema = z.array(z.string());
const listOf = (json: string): readonly string[] => listSchema.parse(JSON.parse(json));

async function read(grace: number, deadline: number): Promise<StaleTags> {
  const [row = []] = await execute(tags.stale(tagsMax + 1, grace, againAfterInMilliseconds), deadline);
  return {
    seen: { snapshot: text(row, 0), addedBy: text(row, 1), invalidatedBy: text(row, 2) },
    fresh: listOf(text(row, 3)),
    due: listOf(text(row, 4)),
    oldestInSeconds: integerOrNull(row, 5) ?? 0,
    waitingInMilliseconds: integerOrNull(row, 6) ?? 0,
    paths: integerOrNull(row, 7) ?? 0,
    lastInSeconds: integerOrNull(row, 8) ?? Number.POSITIVE_INFINITY,
  };
}
