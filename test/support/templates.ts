import { type Lambda, startLambda } from "../../infra/aws-local/lambda/lambda.ts";
import { createOwnedDatabase } from "../../infra/aws-local/postgres/database-owner.ts";
import { type Postgres, startPostgres } from "../../infra/aws-local/postgres/server.ts";
import { startDataApi } from "../../infra/aws-local/test/data-api.ts";
import { cachedFolder } from "../../infra/build/cached-folder.ts";
import { defaultName as owner } from "../../infra/local/database.ts";
import { loadDemo } from "../../infra/local/demo/load.ts";
import { settingsOf } from "../../infra/local/stage/functions.ts";
import { newSecrets } from "../../infra/local/stage/secrets.ts";
import { identifier, openDatabase } from "./database.ts";
import { key, useDatabase } from "./environment.ts";
import { invoke } from "./invoke.ts";
import { copyCluster } from "./own-postgres.ts";

type Templates = Awaited<ReturnType<typeof openServer>>;

/** Everything that the databases are made from. */
const inputs = [
  "functions/ops",
  "infra/aws-local/postgres",
  "infra/local/demo",
  "infra/local/stage/secrets.ts",
  "lib",
  "package-lock.json",
  "test/support/templates.ts",
];

/**
 * Starts PostgreSQL with the databases `blank` (migrated) and `demo` (with the demo data as well). The cluster is a
 * copy of one that was made before: to create it takes three seconds.
 * @param outdir the built functions
 */
export async function startTemplates(directory: string, outdir: string): Promise<Templates> {
  const kept = await cachedFolder("cluster", inputs, async (folder) => {
    const server = await startPostgres({ directory: folder, durable: false });
    try {
      const templates = await openServer(server);
      await migrate("blank", templates, outdir);
      const sql = openDatabase(`${server.url}/postgres`, { max: 1 });
      // The databases of a run are too many to look after.
      await sql`alter system set autovacuum = off`;
      await sql`create database demo template blank owner ${identifier(owner)}`;
      await sql.end();
      await withFunctions("demo", templates, outdir, (lambda) => loadDemo(lambda, `${templates.ownerUrl}/demo`));
    } finally {
      await server.stop();
    }
  });
  await copyCluster(kept, directory);
  return await openServer(await startPostgres({ directory, durable: false }));
}

async function openServer(server: Postgres) {
  /** The server's URL for the role that owns the databases, which is no superuser. */
  const ownerUrl = await createOwnedDatabase(server.url, "blank", owner);
  // The passwords of the roles are derived from the superuser's. All databases have them in common.
  return { server, ownerUrl, secrets: newSecrets(ownerUrl, new URL(server.url).password) };
}

/** Runs the migrations of the built functions. */
export const migrate = (database: string, templates: Templates, outdir: string): Promise<void> =>
  withFunctions(database, templates, outdir, async (lambda) => void (await invoke({ lambda }, "ops-migrate", {})));

async function withFunctions(
  database: string,
  { ownerUrl, secrets }: Templates,
  outdir: string,
  work: (lambda: Lambda) => Promise<void>,
): Promise<void> {
  const dataApi = await startDataApi({ databaseUrl: ownerUrl, secrets, key });
  useDatabase(database, dataApi.url);
  const lambda = await startLambda({ outdir, settingsOf });
  await work(lambda);
  await lambda.close();
  await dataApi.close();
}
