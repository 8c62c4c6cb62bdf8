import * as z from "zod/mini";
import { execute } from "../../lib/database/client.ts";
import { text } from "../../lib/database/read.ts";
import { operate } from "../../lib/operate.ts";
import * as releases from "../../lib/queries/releases.ts";

const daysDefault = 400;

/**
 * Forgets what nobody needs any more: the ledger's rows older than so many days, sessions that ended 30 days ago, and
 * what old releases changed the database by. Safe to run at any time.
 */
export const handler = operate(
  "ops/tidy",
  z.looseObject({ days: z._default(z.int().check(z.minimum(1)), daysDefault) }),
  async ({ days }, { change }) => {
    const forgotten = { changes: 0, sessions: 0, releases: 0 };
    for (let isDone = false; !isDone; ) {
      const { answer } = await change("tidy", { days });
      const batch = batchSchema.parse(answer);
      forgotten.changes += batch.changes;
      forgotten.sessions += batch.sessions;
      isDone = batch.isDone;
    }
    for (const row of await execute(releases.old())) {
      await execute(releases.drop(text(row, 0)));
      await execute(releases.forget(text(row, 0)));
      forgotten.releases += 1;
    }
    return forgotten;
  },
);

const batchSchema = z.object({ changes: z.number(), sessions: z.number(), isDone: z.boolean() });
