import { createOwnedDatabase } from "./database-owner.ts";
import { supervisePostgres } from "./supervise.ts";

/** A PostgreSQL of our own over a directory, or one that runs already. */
export type DatabaseOptions = EmbeddedOptions | { readonly url: string };

interface EmbeddedOptions {
  readonly directory: string;
  /** Of the database, and of its owner. */
  readonly name?: string;
  /** False makes it faster, and loses data when the machine crashes. */
  readonly durable?: boolean;
}

export interface Database {
  /** The server's URL with the user who owns the database, without its name. */
  readonly serverUrl: string;
  /** The same with a user who may do more, if there is one. */
  readonly adminUrl: string;
  readonly name: string;
  stop(): Promise<void>;
}

export interface Watch {
  readonly report: (line: string) => void;
  /** Called with the reason when a server has ended for good. */
  readonly onExit: (reason: string) => void;
}

/** Starts PostgreSQL with a database whose owner is no superuser, unless there is a URL of another. */
export async function openDatabase(options: DatabaseOptions, { report, onExit }: Watch): Promise<Database> {
  if ("url" in options) {
    const { serverUrl, name } = splitUrl(options.url);
    return { serverUrl, adminUrl: serverUrl, name, stop: async () => {} };
  }
  const { directory, name = "local", durable = true } = options;
  const { url: adminUrl, stop } = await supervisePostgres({ directory, durable }, report, onExit);
  report("PostgreSQL is up");
  try {
    return { serverUrl: await createOwnedDatabase(adminUrl, name), adminUrl, name, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The server and the database of a URL. */
export function splitUrl(databaseUrl: string, nameDefault = "postgres"): { serverUrl: string; name: string } {
  const url = new URL(databaseUrl);
  const name = decodeURIComponent(url.pathname.slice(1)) || nameDefault;
  url.pathname = "";
  url.search = "";
  return { serverUrl: url.href, name };
}
