import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { RDSData } from "@aws-sdk/client-rds-data";
import { themesOf } from "./all.ts";
import { fixture, schema } from "./fixture.ts";
import type { Probe } from "./probe.ts";
import { type ProbeResult, runProbe, type Target } from "./run.ts";

const usage = "npm run prove -- --cluster ARN --secret ARN --database NAME [--results FILE] [--without-waiting]";

const flags = {
  cluster: { type: "string", default: "" },
  secret: { type: "string", default: "" },
  database: { type: "string", default: "" },
  results: { type: "string", default: "results.json" },
  "without-waiting": { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

interface Proven extends Omit<Probe, "steps"> {
  theme: string;
  results: ProbeResult[];
}

/** Sends the probes to a cluster, and writes the results. Returns whether all are as expected. */
async function prove(stop: AbortSignal): Promise<boolean> {
  const { values } = parseArgs({ options: flags });
  const { cluster: resourceArn, secret: secretArn, database, results: file } = values;
  if (values.help) {
    console.log(usage);
    return true;
  }
  const region = resourceArn.split(":")[3];
  if (!region || !secretArn || !database)
    throw new Error(`--cluster with an ARN, --secret and --database are needed (${usage})`);
  const target = { client: new RDSData({ region }), resourceArn, secretArn, database };
  const execute = (sql: string) =>
    target.client.executeStatement({ resourceArn, secretArn, database, sql, continueAfterTimeout: true });

  const { records } = await execute(`select version(), to_regnamespace('${schema}') is not null`);
  const [version, exists] = records?.[0] ?? [];
  if (exists?.booleanValue) throw new Error(`There is a schema "${schema}" already in the database ${database}`);
  await writeFile(file, "");
  const [createSchema = "", ...rest] = fixture;
  await execute(createSchema);
  const startedAt = new Date();
  try {
    for (const sql of rest) await execute(sql);
    const probes = await runAll(target, values["without-waiting"], stop);
    const all = { version: version?.stringValue, startedAt, probes };
    await writeFile(file, JSON.stringify(all, writeRegularExpression, 2));
    report(probes, file);
    return differing(probes).length === 0;
  } finally {
    await execute(`drop schema ${schema} cascade`).catch(({ message }) =>
      console.error(`Drop the schema "${schema}" in the database ${database} yourself: ${message}`),
    );
  }
}

/** Those that wait for time-outs run beside the others, which run in turn. */
async function runAll(target: Target, withoutWaiting: boolean, stop: AbortSignal) {
  const run = async (theme: string, probe: Probe) => {
    const { name, source } = probe;
    return { theme, name, source, results: await runProbe(target, probe, stop) };
  };
  const { timeOuts, ...themes } = themesOf();
  const runInTurn = async () => {
    const proven: Proven[] = [];
    for (const [theme, probes] of Object.entries(themes))
      for (const probe of probes) proven.push(await run(theme, probe));
    return proven;
  };
  const waiting = withoutWaiting ? [] : timeOuts.map((probe) => run("timeOuts", probe));
  const [proven, waited] = await Promise.all([runInTurn(), Promise.all(waiting)]);
  stop.throwIfAborted();
  return [...proven, ...waited];
}

const differing = (proven: readonly Proven[]) => proven.filter(({ results }) => results.some(({ differs }) => differs));

/** Prints each difference. */
function report(proven: readonly Proven[], file: string): void {
  for (const { theme, name, source, results } of differing(proven)) {
    console.log(`${theme}: ${name} (${source})`);
    for (const { call, expected, response } of results.filter(({ differs }) => differs))
      console.log(
        `  ${call}\n    expected ${JSON.stringify(expected, writeRegularExpression)}\n    got      ${JSON.stringify(response)}`,
      );
  }
  const calls = proven.flatMap(({ results }) => results).length;
  console.log(`${differing(proven).length} of ${proven.length} probes differ (${calls} calls; all results: ${file})`);
}

const writeRegularExpression = (_: string, value: unknown) => (value instanceof RegExp ? `${value}` : value);

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort());
try {
  process.exitCode = (await prove(stop.signal)) ? 0 : 1;
} catch (error) {
  // The name too, since some of the service's errors have no message.
  const { name, message } = error as Error;
  console.error(stop.signal.aborted ? "Interrupted" : `${name}: ${message.split("\n")[0]}`);
  process.exitCode = 2;
}
