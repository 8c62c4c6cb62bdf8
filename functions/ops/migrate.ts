import * as z from "zod/mini";
import { changes, steps } from "../../lib/changes/all.ts";
import { permissions } from "../../lib/contract/permissions.ts";
import { install, migrate } from "../../lib/database/migrate.ts";
import { migrations } from "../../lib/database/migrations/all.ts";
import { operate } from "../../lib/operate.ts";

/**
 * Brings the database up to date, installs what this release changes it by, and restores the permissions that the
 * service needs. Safe to run at any time.
 */
export const handler = operate("ops/migrate", z.looseObject({}), async (_, { change }) => {
  const applied = await migrate(migrations);
  await install([...steps, ...Object.values(changes)]);
  await change("restore_permissions", permissions);
  return { applied };
});
