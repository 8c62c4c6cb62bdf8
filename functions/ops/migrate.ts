import * as z from "zod/mini";
import { execute } from "../../lib/database/client.ts";
import { migrate } from "../../lib/database/migrate.ts";
import { migrations } from "../../lib/database/migrations/all.ts";
import { operate } from "../../lib/operate.ts";
import * as access from "../../lib/queries/access.ts";

/** Brings the database up to date and restores the permissions this service needs. Safe to run at any time. */
export const handler = operate(z.looseObject({}), async () => {
  const applied = await migrate(migrations);
  await execute(access.restore, true);
  return { applied };
});
