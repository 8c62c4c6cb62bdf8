import { join } from "node:path";
import { escapeIdentifier } from "pg";
import { withConnection } from "../aws-local/postgres/connection.ts";
import { splitUrl } from "../aws-local/postgres/database.ts";

export interface DatabaseOptions {
  /** The directory that keeps all data from one start to the next. */
  readonly directory: string;
  /** A PostgreSQL 18 to use instead of the embedded one, its database included. */
  readonly databaseUrl?: string | undefined;
  /** Whether a database of this name may be created there, since it does not exist. */
  readonly mayCreate: (name: string) => Promise<boolean>;
}

/** The name of the database, unless `databaseUrl` has another, and of the owner of an embedded one. */
export const defaultName = "colophon";

/** The database of `npm start`, which is created if it does not exist. */
export async function findDatabase({ directory, databaseUrl, mayCreate }: DatabaseOptions) {
  if (databaseUrl === undefined) return { directory: join(directory, "postgres"), name: defaultName };
  const { serverUrl, name } = splitUrl(databaseUrl, defaultName);
  await createDatabase(serverUrl, name, mayCreate);
  return { url: `${serverUrl}/${encodeURIComponent(name)}`, name };
}

/**
 * Creates a database unless it exists. On an external server the service logs in as the user of its URL.
 * @throws when it may not be created: the name may be mistyped
 */
async function createDatabase(serverUrl: string, name: string, mayCreate: DatabaseOptions["mayCreate"]): Promise<void> {
  await withConnection(`${serverUrl}/postgres`, async (client) => {
    const { rowCount } = await client.query("select 1 from pg_database where datname = $1", [name]);
    if (rowCount) return;
    if (!(await mayCreate(name))) throw new Error(`There is no database ${name}; npm start -- --create creates it`);
    await client.query(`create database ${escapeIdentifier(name)} encoding 'UTF8' template template0`);
  });
}

/** Whether a database URL names this machine. */
export const isLoopback = (databaseUrl: string): boolean =>
  /^(localhost|127(\.\d+){3}|\[::1\])$/i.test(new URL(databaseUrl).hostname);

/** Whether a database has neither users nor contributors. */
export const isEmpty = (databaseUrl: string): Promise<boolean> =>
  withConnection(databaseUrl, async (client) => {
    const { rowCount } = await client.query("select 1 from users union all select 1 from contributors limit 1");
    return rowCount === 0;
  });
