import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { startApiGateway } from "../../infra/aws-local/api-gateway/server.ts";
import { startDataApi } from "../../infra/aws-local/data-api/server.ts";
import { startLambda } from "../../infra/aws-local/lambda/lambda.ts";
import { startPostgres } from "../../infra/aws-local/postgres/server.ts";
import { startS3 } from "../../infra/aws-local/s3/server.ts";
import { build } from "../../infra/build/build.ts";
import { localDocument } from "../../infra/local/document.ts";
import { settingsOf } from "../../infra/local/functions.ts";
import { imageBucket } from "../../infra/local/image-bucket.ts";
import { newSecrets } from "../../infra/local/secrets.ts";
import { setBucketVariables } from "../../infra/local/variables.ts";
import { key, panelOrigin, useDatabase } from "../support/environment.ts";
import { runFaults, type Service } from "./faults-run.ts";
import type { Row } from "./measure.ts";

const requests = 10_000;

/** Sends requests while three in ten calls to database and S3 fail. The same seed makes the same plan. */
export async function faults(): Promise<Row[]> {
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
  console.log(`Faults, seed ${seed}`);
  const { service, close } = await startService();
  const start = performance.now();
  const counts = await runFaults(service, { requests, seed }).finally(close);
  const seconds = (performance.now() - start) / 1_000;
  const { answers, calls, faults: failed, examples, ...wrong } = counts;
  for (const example of examples) console.log(`  ${example}`);
  return [
    { what: "calls to database and S3", value: calls, unit: "" },
    { what: "of them with a fault", value: failed, unit: "" },
    ...Object.entries(answers).map(([status, count]) => ({
      what: `requests answered ${status}`,
      value: count,
      unit: "",
    })),
    { what: "seconds for all of them", value: seconds, unit: "s" },
    ...Object.entries(wrong).map(([what, count]) => ({ what: titles[what] ?? what, value: count, unit: "", bound: 0 })),
  ];
}

const titles: Readonly<Record<string, string>> = {
  lost: "writes answered 200, but not done",
  doubled: "writes done more than once",
  half: "writes done partly",
  refused: "valid requests answered 4xx",
  failed: "requests answered 5xx except 503",
  early: "503 without Retry-After, or too early",
  dangling: "missing objects of images that records refer to",
  orphaned: "objects that are neither referred to nor listed for removal",
};

/** Starts the whole service with an empty database. */
async function startService(): Promise<{ service: Service; close(): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), "colophon-faults-"));
  // Beneath node_modules, so that bundles find sharp.
  const outdir = join(import.meta.dirname, "../../node_modules/.cache", `colophon-faults-${process.pid}`);
  const [server, s3] = await Promise.all([
    startPostgres({ directory: join(directory, "postgres") }),
    startS3({ directory: join(directory, "s3"), buckets: [imageBucket], key }),
    build({ outdir }),
  ]);
  const dataApi = await startDataApi({ databaseUrl: server.url, secrets: newSecrets(server.url), key });
  useDatabase("postgres", dataApi.url);
  setBucketVariables(s3.url);
  const lambda = await startLambda({ outdir, settingsOf });
  const migrated = await lambda.invoke("ops-migrate", {});
  if ("error" in migrated) throw new Error(migrated.error.errorMessage);
  const gateway = await startApiGateway({
    lambda,
    document: localDocument({ allowedOrigins: [panelOrigin], uploads: true }),
  });
  const sql = postgres(`${server.url}/postgres`, { max: 4, onnotice: () => {} });
  return {
    service: { url: gateway.url, sql, dataApi, s3 },
    async close() {
      await gateway.close();
      await sql.end();
      await Promise.all([dataApi.close(), s3.close()]);
      await server.stop();
      await Promise.all([directory, outdir].map((each) => rm(each, { recursive: true, force: true })));
    },
  };
}
