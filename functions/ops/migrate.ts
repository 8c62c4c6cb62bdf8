import * as z from "zod/mini";
import { entries, scripts } from "../../lib/changes/all.ts";
import { permissions } from "../../lib/contract/permissions.ts";
import { install, migrate } from "../../lib/database/migrate.ts";
import { migrations } from "../../lib/database/migrations/all.ts";
import { grantRights, makeRoles } from "../../lib/database/roles.ts";
import { operatorFunction } from "../../lib/operators/operator-function.ts";

/**
 * Brings the database up to date: roles and their passwords, tables, the functions of this release, rights, and the
 * permissions that the service needs. Safe to run at any time.
 */
export const handler = operatorFunction("ops/migrate", z.looseObject({}), async (_, { change }) => {
  await makeRoles();
  const applied = await migrate(migrations);
  await install(scripts, entries);
  await grantRights();
  await change("restore_permissions", permissions);
  return { applied };
});
