import { join } from "node:path";
import { escapeIdentifier } from "pg";
import { withConnection } from "../aws-local/postgres/connection.ts";
import { createOwnedDatabase } from "../aws-local/postgres/owner.ts";
import { supervisePostgres } from "../aws-local/postgres/supervise.ts";
import type { Secrets } from "../aws-local/secrets-manager/secrets-manager.ts";
import { newSecrets } from "./secrets.ts";

export interface DatabaseOptions {
  /** The directory that keeps all data from one start to the next. */
  readonly directory: string;
  /** A PostgreSQL 18 to use instead of the embedded one, its database included. */
  readonly databaseUrl?: string | undefined;
  /** Whether a database of this name may be created there, since it does not exist. */
  readonly mayCreate: (name: string) => Promise<boolean>;
  readonly report: (line: string) => void;
  /** Called with the reason when a server has ended for good. */
  readonly onExit: (reason: string) => void;
}

export interface Database {
  /** The server's URL, with the user to whom the database belongs. */
  readonly serverUrl: string;
  readonly name: string;
  /** The passwords with which functions log in. */
  readonly secrets: Secrets;
  /** Whether nobody else uses the server. */
  readonly isOwn: boolean;
  stop(): Promise<void>;
}

/** The name of the database, unless `databaseUrl` has another. */
export const defaultName = "colophon";

/** Starts PostgreSQL unless there is another server, and creates the database if it does not exist. */
export async function startDatabase(options: DatabaseOptions): Promise<Database> {
  const { databaseUrl, directory, report, onExit } = options;
  if (databaseUrl) {
    const { url, name } = externalServer(databaseUrl);
    await createDatabase(url, name, options.mayCreate);
    return { serverUrl: url, name, secrets: newSecrets(url), isOwn: false, stop: async () => {} };
  }
  const { url, stop } = await supervisePostgres({ directory: join(directory, "postgres") }, report, onExit);
  report("PostgreSQL is up");
  try {
    const serverUrl = await createOwnedDatabase(url, defaultName);
    // The owner has a new password at each start, the superuser always the same.
    const secrets = newSecrets(serverUrl, new URL(url).password);
    return { serverUrl, name: defaultName, secrets, isOwn: true, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The server and the database of a `--database` URL. */
export function externalServer(databaseUrl: string): { url: string; name: string } {
  const url = new URL(databaseUrl);
  const name = decodeURIComponent(url.pathname.slice(1)) || defaultName;
  url.pathname = "";
  url.search = "";
  return { url: url.href, name };
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
