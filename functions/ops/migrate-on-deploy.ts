import { operatorFunction } from "../../lib/operators/operator-function.ts";
import { respondToCloudFormation } from "../../lib/operators/release/cloudformation.ts";
import { handler as migrate } from "./migrate.ts";

/**
 * Brings the database up to date when its stack is created or updated. An update that finds an empty database, such as
 * a new cluster that was made without its snapshot, fails and changes nothing.
 */
export const handler = operatorFunction("ops/migrate-on-deploy", async (request, { context }) => {
  const { RequestType, ResourceProperties } = request;
  const refuseEmpty = RequestType === "Update" && !ResourceProperties?.MayBeEmpty;
  // The cluster is the stack's own. A restored one has the passwords of its snapshot, which are in no secret any more.
  const settings = { setPasswords: true, closeOtherDatabases: true, refuseEmpty };
  await respondToCloudFormation(request, "migrations", async () => {
    if (RequestType !== "Delete") await migrate(settings, context);
    return undefined;
  });
});
