import { callableFunctions } from "../../lib/changes/all.ts";
import { scripts } from "../../lib/changes/scripts.ts";
import { permissions } from "../../lib/contract/permissions.ts";
import { install, migrate, refuseEmptyDatabase } from "../../lib/migrations/migrate.ts";
import { closeOtherDatabases, grantRights } from "../../lib/migrations/rights.ts";
import { makeRoles } from "../../lib/migrations/roles.ts";
import { migrations } from "../../lib/migrations/tables/all.ts";
import { operatorFunction } from "../../lib/operators/operator-function.ts";

/** A call of a slow migration may last for 45 s, and the steps after the migrations take a moment. */
const reserveInMilliseconds = 60_000;

/**
 * Brings the database up to date: roles, tables, the functions of this release, rights, and the permissions that the
 * service needs. Safe to run at any time. If a slow migration takes longer than the function may, it fails; run it again
 * when the migration has ended. `setPasswords` sets the password of a role that cannot log in with its secret, and
 * `closeOtherDatabases` is for a server that has no other service: only their owner may connect to them. With
 * `refuseEmpty` it changes nothing in a database that no migration has reached.
 */
export const handler = operatorFunction("ops/migrate", async (input, { change, deadline }) => {
  if (input.refuseEmpty) await refuseEmptyDatabase();
  await makeRoles(input.setPasswords);
  if (input.closeOtherDatabases) await closeOtherDatabases();
  const applied = await migrate(migrations, deadline - reserveInMilliseconds);
  await install(scripts);
  await grantRights(callableFunctions);
  await change("restore_permissions", permissions);
  return { applied };
});
