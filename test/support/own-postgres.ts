import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { startPostgres } from "../../infra/aws-local/postgres/server.ts";
import { cachedFolder } from "../../infra/build/cached-folder.ts";

/** Everything that an empty cluster is made from. */
const inputs = ["infra/aws-local/postgres", "package-lock.json", "test/support/own-postgres.ts"];

export type OwnPostgres = Awaited<ReturnType<typeof startOwnPostgres>>;

/**
 * Starts a PostgreSQL that a test may stop, over a copy of an empty cluster: to create one takes more than a second. It
 * has a temporary directory of its own, and loses nothing in a crash if it is durable.
 */
export async function startOwnPostgres({ durable = false } = {}) {
  const home = await mkdtemp(join(tmpdir(), "colophon-postgres-"));
  const directory = join(home, "postgres");
  await copyEmptyCluster(directory);
  let server = await startPostgres({ directory, durable });
  return {
    url: server.url,
    directory,
    get processId() {
      return server.processId;
    },
    stop: () => server.stop(),
    /** Starts it again, after it has stopped or crashed. */
    async restart() {
      server = await startPostgres({ directory, durable, port: Number(new URL(server.url).port) });
    },
    /** Stops it, and removes its data. */
    async remove() {
      await server.stop();
      await rm(home, { recursive: true });
    },
  };
}

export async function copyEmptyCluster(directory: string): Promise<void> {
  const kept = await cachedFolder("empty-cluster", inputs, async (folder) => {
    await (await startPostgres({ directory: folder, durable: false })).stop();
  });
  await copyCluster(kept, directory);
}

/** Copies a cluster with the owner of its files, which is not the user of this process if that is root. */
export async function copyCluster(from: string, to: string): Promise<void> {
  await promisify(execFile)("cp", ["-a", from, to]);
}
