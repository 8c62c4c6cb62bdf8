import { database } from "../../lib/data-api/client.ts";
import { problemsOf } from "../../lib/operators/check-copy.ts";
import { operatorFunction } from "../../lib/operators/operator-function.ts";

/**
 * Compares a restored copy of the database with the live one, and tells what is wrong with it (infra/restore.md, "Copies").
 * It changes nothing.
 */
export const handler = operatorFunction("ops/check-copy", async ({ cluster, secret, ...checks }, { deadline }) => ({
  problems: await problemsOf({
    ...checks,
    copy: { ...database, resourceArn: cluster, secretArn: secret },
    live: database,
    deadline,
  }),
}));
