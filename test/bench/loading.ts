import { execFile } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { build as bundle } from "esbuild";
import { build, bundling } from "../../infra/build/build.ts";
import { endpointPath, isPublic } from "../../lib/contract/declare.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { type Row, sideBySide } from "./measure.ts";

const run = promisify(execFile);
const rounds = 25;
const bytesMax = 360_000;

/** Measures the size of each bundle, and compares the start of a process with that of one with the SDK only. */
export async function loading(): Promise<Row[]> {
  // Beneath node_modules, so that bundles find sharp.
  const outdir = join(import.meta.dirname, "../../node_modules/.cache", `colophon-loading-${process.pid}`);
  return await measure(outdir).finally(() => rm(outdir, { recursive: true, force: true }));
}

async function measure(outdir: string): Promise<Row[]> {
  const built = await build({ outdir });
  const publicPaths = endpoints.filter(isPublic).map(endpointPath);
  const sizes = built
    .filter((each) => publicPaths.includes(each.endpointPath))
    .map(
      (each): Row => ({ what: `size of ${each.name}`, value: each.bytes / 1000, unit: "kB", bound: bytesMax / 1000 }),
    );

  const whole = join(outdir, "sdk.mjs");
  const trimmed = join(outdir, "trimmed-sdk.mjs");
  const stdin = {
    contents: `
      import { ExecuteStatementCommand, RDSDataClient } from "@aws-sdk/client-rds-data";
      const client = new RDSDataClient({});
      export const handler = () => client.send(new ExecuteStatementCommand({}));
    `,
    resolveDir: import.meta.dirname,
  };
  await bundle({ ...bundling(), alias: {}, stdin, outfile: whole });
  await bundle({ ...bundling(), stdin, outfile: trimmed });
  const starter = join(outdir, "starter.mjs");
  await writeFile(
    starter,
    `globalThis.awslambda = { streamifyResponse: (handler) => handler }; await import(process.argv[2]); process.exit();`,
  );
  const start = (file: string) => () =>
    run(process.execPath, [starter, file], { env: { ...process.env, AWS_REGION: "eu-central-1" } });
  const endpointPaths = ["contributors/list", "contributor/slug", "contributor/random"];
  const files = [whole, trimmed, ...endpointPaths.map((each) => join(outdir, each, "index.mjs"))];
  const [sdk = 0, small = 0, ...ours] = await sideBySide(files.map(start), rounds);
  return [
    ...sizes,
    {
      what: `the SDK without credential providers for laptops (${sdk.toFixed(0)} ms with them)`,
      value: small / sdk,
      unit: "x",
    },
    ...ours.map((time, index) => ({
      what: `${endpointPaths[index]} ready (${time.toFixed(0)} ms)`,
      value: time / sdk,
      unit: "x",
      bound: 1.15,
    })),
  ];
}
