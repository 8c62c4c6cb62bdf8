import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { clientVariables } from "../../infra/aws-local/client-variables.ts";
import { type Lambda, startLambda } from "../../infra/aws-local/lambda/lambda.ts";
import { withConnection } from "../../infra/aws-local/postgres/connection.ts";
import { startPostgres } from "../../infra/aws-local/postgres/server.ts";
import { startDataApi } from "../../infra/aws-local/test/data-api.ts";
import { cachedBuild } from "../../infra/build/cached-build.ts";
import { loadDemo } from "../../infra/local/demo/load.ts";
import { scale } from "../../infra/local/demo/scale.ts";
import { migrate } from "../../infra/local/rebuild-on-edit.ts";
import { settingsOf, variablesOf } from "../../infra/local/stage/functions.ts";
import { newSecrets } from "../../infra/local/stage/secrets.ts";
import { key } from "../support/environment.ts";
import { addUsers } from "../support/made-up-users.ts";
import type { Row } from "./measure.ts";

/** A catalogue, and the functions over it. */
export interface Catalogue {
  readonly lambda: Lambda;
  readonly databaseUrl: string;
  readonly contributors: number;
  /** The time to add these, with their series and publishers. */
  readonly seconds: number;
}

export interface Stage {
  readonly dataApi: Awaited<ReturnType<typeof startDataApi>>;
  /** Makes a catalogue with so many contributors in the scope of client 1. */
  catalogue(size: number): Promise<Catalogue>;
}

const roles = 200;

/** Measures something with a PostgreSQL and a Data API of its own. */
export async function withStage(measure: (stage: Stage) => Promise<Row[]>): Promise<Row[]> {
  const directory = await mkdtemp(join(tmpdir(), "colophon-bench-"));
  const server = await startPostgres({ directory: join(directory, "postgres") });
  const dataApi = await startDataApi({ databaseUrl: server.url, secrets: newSecrets(server.url), key });
  const { outdir } = await cachedBuild();
  const lambdas: Lambda[] = [];

  const catalogue = async (size: number): Promise<Catalogue> => {
    const database = `catalogue_${size}`;
    await withConnection(`${server.url}/postgres`, (client) => client.query(`create database ${database}`));
    const variables = { ...clientVariables(key, { dataApiUrl: dataApi.url }), ...variablesOf({ database }) };
    const lambda = await startLambda({ outdir, settingsOf, variables, print: () => {} });
    lambdas.push(lambda);
    await migrate(lambda);
    const databaseUrl = `${server.url}/${database}`;
    await loadDemo(lambda, databaseUrl);
    // Four in five are in the scope of client 1.
    const contributors = 1.25 * size;
    console.log(`A catalogue of ${contributors} contributors and ${size} users`);
    const start = performance.now();
    await scale(databaseUrl, contributors);
    const seconds = (performance.now() - start) / 1_000;
    await addUsers(databaseUrl, size, roles);
    return { lambda, databaseUrl, contributors, seconds };
  };

  try {
    return await measure({ dataApi, catalogue });
  } finally {
    for (const lambda of lambdas) await lambda.close();
    await dataApi.close();
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  }
}
