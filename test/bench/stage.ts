import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { build } from "../../infra/build.ts";
import { type DataApi, startDataApi } from "../../infra/local/data-api/server.ts";
import { loadDemo } from "../../infra/local/demo/load.ts";
import { type Lambda, startLambda } from "../../infra/local/lambda.ts";
import { startPostgres } from "../../infra/local/postgres.ts";
import { scale, scaleUsers } from "../../infra/local/scale.ts";
import { key, useDatabase } from "../support/environment.ts";

export interface Stage {
  readonly databaseUrl: string;
  readonly outdir: string;
  readonly dataApi: DataApi;
  /** The functions over a catalogue of this size. */
  readonly over: (size: Size) => Promise<Lambda>;
  close(): Promise<void>;
}

export const sizes = {
  small: { contributors: 2_000, users: 2_000 },
  // Four in five are in the scope of client 1: 200,000.
  large: { contributors: 250_000, users: 100_000 },
} as const;
export type Size = keyof typeof sizes;

const roles = 200;

/** A PostgreSQL with a small and a large catalogue, and the built functions. */
export async function setTheStage(): Promise<Stage> {
  const directory = await mkdtemp(join(tmpdir(), "colophon-bench-"));
  const server = await startPostgres({ directory: join(directory, "postgres") });
  const dataApi = await startDataApi({ databaseUrl: server.url, key });
  // Beneath node_modules, so that bundles find sharp.
  const bundles = join(import.meta.dirname, "../../node_modules/.cache", `colophon-bench-${process.pid}`);
  const outdirs = { small: join(bundles, "small"), large: join(bundles, "large") };
  const sql = postgres(`${server.url}/postgres`, { max: 1 });
  for (const size of ["small", "large"] as const) {
    await build({ outdir: outdirs[size] });
    await sql`create database ${sql(size)}`;
    useDatabase(size, dataApi.url);
    const lambda = await startLambda({ outdir: outdirs[size] });
    const migrated = await lambda.invoke("ops-migrate", {});
    if ("error" in migrated) throw new Error(migrated.error.errorMessage);
    const url = `${server.url}/${size}`;
    await loadDemo(url);
    console.log(`A ${size} catalogue: ${sizes[size].contributors} contributors, ${sizes[size].users} users`);
    await scale(url, sizes[size].contributors, console.log);
    await scaleUsers(url, sizes[size].users, roles);
  }
  await sql.end();
  return {
    databaseUrl: server.url,
    outdir: outdirs.large,
    dataApi,
    async over(size) {
      // Each size has bundles of its own, which read the environment when they are loaded.
      useDatabase(size, dataApi.url);
      const lambda = await startLambda({ outdir: outdirs[size] });
      const files = (await readdir(outdirs[size], { recursive: true })).filter((file) => file.endsWith("index.mjs"));
      await Promise.all(files.map((file) => import(join(outdirs[size], file))));
      return lambda;
    },
    async close() {
      await dataApi.close();
      await server.stop();
      await Promise.all([directory, bundles].map((each) => rm(each, { recursive: true, force: true })));
    },
  };
}
