import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import postgres from "postgres";
import type { TestProject } from "vitest/node";
import { buildOrReuse } from "../../infra/build/reuse.ts";
import { newSecrets, type Secrets } from "../../infra/local/data-api/secrets.ts";
import { startDataApi } from "../../infra/local/data-api/server.ts";
import { loadDemo } from "../../infra/local/demo/load.ts";
import { createOwnedDatabase, owner } from "../../infra/local/postgres/owner.ts";
import { startPostgres } from "../../infra/local/postgres/server.ts";
import { key, useDatabase } from "./environment.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** PostgreSQL with the templates `blank` (migrated) and `demo` (with the demo data as well). */
    databaseUrl: string;
    /** The same for the role that functions have there, which is no superuser. */
    ownerUrl: string;
    /** Its secret, and those of the roles, which all databases have in common. */
    secrets: Secrets;
    /** The built functions. */
    outdir: string;
    /** Where test files may keep what is there for the whole run. */
    cache: string;
  }
}

/** One PostgreSQL and one build for the whole run; each test file has a database of its own. */
export default async function setup(project: TestProject) {
  const directory = await mkdtemp(join(tmpdir(), "colophon-test-"));
  // Beneath node_modules, so that bundles find sharp and the test runner leaves them as they are.
  const cache = join(import.meta.dirname, "../../node_modules/.cache", `colophon-test-${process.pid}`);
  const outdir = join(cache, "functions");
  const [server] = await Promise.all([
    startPostgres({ directory: join(directory, "postgres"), durable: false }),
    buildOrReuse({ outdir }),
  ]);
  try {
    const access = await makeTemplates(server.url, outdir);
    project.provide("ownerUrl", access.ownerUrl);
    project.provide("secrets", access.secrets);
    project.onTestsRerun(async () => {
      await buildOrReuse({ outdir });
      for (const template of ["blank", "demo"]) await migrate(template, access, outdir);
    });
  } catch (error) {
    await server.stop();
    throw error;
  }
  project.provide("databaseUrl", server.url);
  project.provide("outdir", outdir);
  project.provide("cache", cache);
  return async () => {
    await server.stop();
    await Promise.all([rm(directory, { recursive: true }), rm(cache, { recursive: true })]);
  };
}

interface Access {
  readonly ownerUrl: string;
  readonly secrets: Secrets;
}

async function makeTemplates(databaseUrl: string, outdir: string): Promise<Access> {
  const sql = postgres(`${databaseUrl}/postgres`, { max: 1 });
  const ownerUrl = await createOwnedDatabase(databaseUrl, "blank");
  // The passwords of the roles are derived from the superuser's.
  const secrets = newSecrets(ownerUrl, new URL(databaseUrl).password);
  await migrate("blank", { ownerUrl, secrets }, outdir);
  await sql`create database demo template blank owner ${sql(owner)}`;
  await loadDemo(`${ownerUrl}/demo`);
  await sql.end();
  return { ownerUrl, secrets };
}

/** Runs the migrations of the last build. */
async function migrate(database: string, { ownerUrl, secrets }: Access, outdir: string): Promise<void> {
  const dataApi = await startDataApi({ databaseUrl: ownerUrl, secrets, key });
  useDatabase(database, dataApi.url);
  const { handler } = await import(`${pathToFileURL(join(outdir, "ops/migrate/index.mjs"))}?${randomUUID()}`);
  await handler({});
  await dataApi.close();
}
