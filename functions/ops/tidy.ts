import * as z from "zod/mini";
import { operate } from "../../lib/operators/operator-function.ts";

const daysDefault = 400;
const daysMax = 3_650;

/**
 * Forgets what nobody needs any more: the ledger's rows older than so many days, sessions that ended 30 days ago, and
 * what old releases changed the database by. Safe to run at any time.
 */
export const handler = operate(
  "ops/tidy",
  z.looseObject({ days: z._default(z.int().check(z.minimum(1), z.maximum(daysMax)), daysDefault) }),
  async ({ days }, { change }) => {
    const forgotten = { changes: 0, sessions: 0, releases: 0 };
    for (let isDone = false; !isDone; ) {
      const { answer } = await change("tidy", { days });
      const batch = batchSchema.parse(answer);
      forgotten.changes += batch.changes;
      forgotten.sessions += batch.sessions;
      forgotten.releases += batch.releases;
      isDone = batch.isDone;
    }
    return forgotten;
  },
);

const batchSchema = z.object({
  changes: z.number(),
  sessions: z.number(),
  releases: z.number(),
  isDone: z.boolean(),
});
