import { setTimeout as sleep } from "node:timers/promises";
import { distribution, everything, invalidate, itemsOf } from "../../lib/operators/edge.ts";
import { operatorFunction } from "../../lib/operators/operator-function.ts";
import { graceInMilliseconds, invalidateStaleTags } from "../../lib/operators/stale-tags.ts";

/** How many paths may be invalidated in a day; each tag counts as one. */
const budget = Number(process.env.INVALIDATIONS_A_DAY ?? 3_000);

/**
 * Invalidates at the edge what has changed: after each change, and every minute what was missed. For an operator it
 * invalidates tags or everything, without the database and whatever the budget.
 */
export const handler = operatorFunction("ops/invalidate", async ({ tags, everything: all }, context) => {
  if (!distribution) return { invalidated: [] };
  if (!tags && !all) return { invalidated: [...(await invalidateStaleTags(budget, context))] };
  const items = all ? everything : itemsOf(new Set(tags));
  await sleep(graceInMilliseconds);
  const startedAt = performance.now();
  await invalidate(distribution, items, context.deadline);
  context.log({ items, paths: items.length, milliseconds: Math.round(performance.now() - startedAt) });
  return { invalidated: items };
});
