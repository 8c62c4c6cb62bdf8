import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Postgres, startPostgres } from "../../infra/aws-local/postgres/server.ts";
import { cachedFolder } from "../../infra/build/cached-folder.ts";

/** Everything that an empty cluster is made from. */
const inputs = ["infra/aws-local/postgres", "package-lock.json", "test/support/empty-cluster.ts"];

/**
 * Starts PostgreSQL over a copy of an empty cluster: to create one takes more than a second. The cluster has a temporary
 * directory of its own, which goes with it.
 */
export async function startEmptyPostgres(): Promise<Postgres & { readonly directory: string }> {
  const home = await mkdtemp(join(tmpdir(), "colophon-postgres-"));
  const directory = join(home, "postgres");
  await copyEmptyCluster(directory);
  const server = await startPostgres({ directory, durable: false });
  const stop = async () => {
    await server.stop();
    await rm(home, { recursive: true });
  };
  return { ...server, directory, stop };
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
