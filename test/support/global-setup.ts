import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import type { Logins } from "../../infra/aws-local/secrets-manager/secrets-manager.ts";
import { cachedBuild } from "../../infra/build/cached-build.ts";
import { migrate, startTemplates } from "./templates.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** PostgreSQL with the template databases `blank` (migrated) and `demo` (migrated, with the demo data). */
    databaseUrl: string;
    /** The same server with the owner of the databases, which is not a superuser, as the user. */
    ownerUrl: string;
    /** The secrets of the owner and of the roles as which functions log in. They are the same for all databases. */
    secrets: Logins;
    /** The built functions. */
    outdir: string;
    /** A directory for files that tests share during the run. */
    cache: string;
  }
}

/** One PostgreSQL and one build for the whole run; each test file has a database of its own. */
export default async function setup(project: TestProject) {
  const directory = await mkdtemp(join(tmpdir(), "colophon-test-"));
  // Beneath node_modules, so that bundles find sharp and the test runner leaves them as they are.
  const cache = join(import.meta.dirname, "../../node_modules/.cache", `colophon-test-${process.pid}`);
  await mkdir(cache, { recursive: true });
  const { outdir } = await cachedBuild();
  const templates = await startTemplates(join(directory, "postgres"), outdir);
  project.onTestsRerun(async () => {
    const { outdir } = await cachedBuild();
    for (const database of ["blank", "demo"]) await migrate(database, templates, outdir);
    project.provide("outdir", outdir);
  });
  project.provide("databaseUrl", templates.server.url);
  project.provide("ownerUrl", templates.ownerUrl);
  project.provide("secrets", templates.secrets);
  project.provide("outdir", outdir);
  project.provide("cache", cache);
  return async () => {
    await templates.server.stop();
    await Promise.all([rm(directory, { recursive: true }), rm(cache, { recursive: true })]);
  };
}
