import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Lambda, startLambda } from "../../infra/aws-local/lambda/lambda.ts";
import { type Postgres, startPostgres } from "../../infra/aws-local/postgres/server.ts";
import { type DataApi, startDataApi } from "../../infra/aws-local/test/data-api.ts";
import { build } from "../../infra/build/build.ts";
import { loadDemo } from "../../infra/local/demo/load.ts";
import { scale } from "../../infra/local/demo/scale.ts";
import { settingsOf } from "../../infra/local/stage/functions.ts";
import { newSecrets } from "../../infra/local/stage/secrets.ts";
import { openDatabase } from "../support/database.ts";
import { key, useDatabase } from "../support/environment.ts";
import { addUsers } from "../support/made-up-users.ts";

export interface Stage {
  readonly databaseUrl: string;
  /** PostgreSQL's first process. */
  readonly postmaster: number;
  readonly dataApi: DataApi;
  /** A catalogue of this size, which the first call makes. */
  readonly catalogue: (size: Size) => Promise<Catalogue>;
  /** The functions, connected to a catalogue of this size. */
  readonly over: (size: Size) => Promise<Lambda>;
  close(): Promise<void>;
}

export interface Catalogue {
  readonly database: string;
  /** Functions built for this catalogue only, because they read the environment when they are loaded. */
  readonly outdir: string;
  readonly contributors: number;
  /** The time to add these, with their series and publishers. */
  readonly seconds: number;
}

/** A size is the number of contributors in the scope of client 1, which are four in five of all. */
const sizes = {
  10000: { contributors: 12_500, users: 10_000 },
  20000: { contributors: 25_000, users: 20_000 },
  200000: { contributors: 250_000, users: 100_000 },
  1000000: { contributors: 1_250_000, users: 1_000_000 },
} as const;
export type Size = keyof typeof sizes;

const roles = 200;

/** Starts PostgreSQL and the Data API. Catalogues and functions are made when they are first needed. */
export async function setTheStage(): Promise<Stage> {
  const directory = await mkdtemp(join(tmpdir(), "colophon-bench-"));
  const server = await startPostgres({ directory: join(directory, "postgres") });
  const dataApi = await startDataApi({ databaseUrl: server.url, secrets: newSecrets(server.url), key });
  // Beneath node_modules, so that bundles find sharp.
  const bundles = join(import.meta.dirname, "../../node_modules/.cache", `colophon-bench-${process.pid}`);
  const made = new Map<Size, Promise<Catalogue>>();

  const make = async (size: Size): Promise<Catalogue> => {
    const database = `catalogue_${size}`;
    const outdir = join(bundles, database);
    const { contributors, users } = sizes[size];
    await build({ outdir });
    await execute(server, `create database ${database}`);
    useDatabase(database, dataApi.url);
    const lambda = await startLambda({ outdir, settingsOf });
    const migrated = await lambda.invoke("ops-migrate", {});
    if ("error" in migrated) throw new Error(migrated.error.errorMessage);
    const url = `${server.url}/${database}`;
    await loadDemo(lambda, url);
    console.log(`A catalogue of ${contributors} contributors and ${users} users`);
    const start = performance.now();
    await scale(url, contributors);
    const seconds = (performance.now() - start) / 1_000;
    await addUsers(url, users, roles);
    return { database, outdir, contributors, seconds };
  };

  const catalogue = (size: Size) => {
    const found = made.get(size) ?? make(size);
    made.set(size, found);
    return found;
  };

  return {
    databaseUrl: server.url,
    postmaster: server.processId,
    dataApi,
    catalogue,
    async over(size) {
      const { database, outdir } = await catalogue(size);
      useDatabase(database, dataApi.url);
      return await startLambda({ outdir, settingsOf, variables: { ...process.env } });
    },
    async close() {
      await dataApi.close();
      await server.stop();
      await Promise.all([directory, bundles].map((each) => rm(each, { recursive: true, force: true })));
    },
  };
}

async function execute(server: Postgres, statement: string): Promise<void> {
  const sql = openDatabase(`${server.url}/postgres`, { max: 1 });
  await sql.query(statement);
  await sql.end();
}
