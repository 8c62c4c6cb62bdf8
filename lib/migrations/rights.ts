import sql, { raw } from "sql-template-tag";
import { text } from "../data-api/client.ts";
import { release } from "../data-api/release.ts";
import { withMigrationLock } from "./migration-lock.ts";
import rights from "./rights.sql";
import { roleNames } from "./roles.ts";
import { runScript } from "./script.ts";

/** Grants the roles exactly their rights on the tables, and on the functions of this release that each of them calls. */
export async function grantRights(entries: Readonly<Record<string, readonly string[]>>): Promise<void> {
  await withMigrationLock(async (send) => {
    await runScript({ path: "lib/migrations/rights.sql", text: rights }, send);
    await send(raw(`revoke all on all functions in schema ${release} from public, ${roleNames.join()}`));
    for (const [role, functions] of Object.entries(entries)) {
      await send(raw(`grant usage on schema ${release} to ${role}`));
      await send(raw(`grant execute on function ${functions.map((name) => `${release}.${name}`).join()} to ${role}`));
    }
  });
}

/**
 * Revokes the right to connect to the other databases of a server that is this service's own. Those of another owner are
 * out of reach.
 */
export const closeOtherDatabases = (): Promise<void> =>
  withMigrationLock(async (send) => {
    const others = await send(sql`
      select quote_ident(datname) from pg_database
      where datdba = current_user::regrole and datname <> current_database()
    `);
    for (const row of others) await send(raw(`revoke connect on database ${text(row, 0)} from public`));
  });
