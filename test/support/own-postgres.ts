import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPostgres } from "../../infra/aws-local/postgres/server.ts";
import { copyEmptyCluster } from "./empty-cluster.ts";

/** A PostgreSQL that a test may stop, and that loses nothing in a crash. */
export interface OwnPostgres {
  readonly url: string;
  readonly processId: number;
  stop(): Promise<void>;
  /** Starts it again, after it has stopped or crashed. */
  restart(): Promise<void>;
  /** Stops it, and removes its data. */
  remove(): Promise<void>;
}

export async function startOwnPostgres(): Promise<OwnPostgres> {
  const parent = await mkdtemp(join(tmpdir(), "colophon-postgres-"));
  const directory = join(parent, "data");
  await copyEmptyCluster(directory);
  let server = await startPostgres({ directory });
  return {
    url: server.url,
    get processId() {
      return server.processId;
    },
    stop: () => server.stop(),
    async restart() {
      server = await startPostgres({ directory, port: Number(new URL(server.url).port) });
    },
    async remove() {
      await server.stop();
      await rm(parent, { recursive: true });
    },
  };
}
