import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { ExecuteStatementCommand, RDSDataClient } from "@aws-sdk/client-rds-data";
import { themesOf } from "./probes/all.ts";
import { fixture, schema } from "./probes/fixture.ts";
import type { Probe } from "./probes/probe.ts";
import { type ProbeResult, runProbe, type Target } from "./probes/run.ts";

const usage = "npm run prove -- --cluster ARN --secret ARN --database NAME [--answers FILE] [--without-waiting]";

interface Proven {
  theme: string;
  name: string;
  source: string;
  answers: ProbeResult[];
}

const sideBySide = 6;

/** What is wrong before anything was written. */
class Refusal extends Error {}

/** Names the error too, because some of the service's have no message. */
const refuse = ({ name, message }: Error): never => {
  throw new Refusal(`${name}: ${message.split("\n")[0]}`);
};

function readOptions() {
  const text = { type: "string" } as const;
  const options = { cluster: text, secret: text, database: text, answers: { ...text, default: "answers.json" } };
  const flags = { "without-waiting": { type: "boolean", default: false } } as const;
  try {
    const { values } = parseArgs({ options: { ...options, ...flags } });
    const { cluster = "", secret = "", database = "" } = values;
    const [, , , region] = cluster.split(":");
    if (!region || !secret || !database) throw new Error("--cluster with an ARN, --secret and --database are needed");
    return { ...values, cluster, secret, database, region };
  } catch (error) {
    throw new Refusal(`${(error as Error).message} (${usage})`);
  }
}

async function prove(options: ReturnType<typeof readOptions>, stop: AbortSignal): Promise<boolean> {
  const { cluster: resourceArn, secret: secretArn, database, region } = options;
  const target = { client: new RDSDataClient({ region }), resourceArn, secretArn, database };
  const execute = (sql: string) =>
    target.client.send(
      new ExecuteStatementCommand({ resourceArn, secretArn, database, sql, continueAfterTimeout: true }),
    );

  const { records } = await execute(`select version(), to_regnamespace('${schema}') is not null`).catch(refuse);
  const [version, exists] = records?.[0] ?? [];
  if (exists?.booleanValue) throw new Refusal(`There is a schema "${schema}" already in the database ${database}`);
  await writeFile(options.answers, "").catch(refuse);
  const [createSchema = "", ...rest] = fixture;
  await execute(createSchema).catch(refuse);
  const startedAt = Date.now();
  try {
    for (const sql of rest) await execute(sql);
    const proven = await runAll(target, options["without-waiting"], stop);
    const all = { version: version?.stringValue, startedAt: new Date(startedAt), probes: proven };
    await writeFile(options.answers, JSON.stringify(all, writeRegularExpression, 2));
    return report(proven, Date.now() - startedAt, options.answers);
  } finally {
    await execute(`drop schema ${schema} cascade`).catch(({ message }) =>
      console.error(`Drop the schema "${schema}" in the database ${database} yourself: ${message}`),
    );
  }
}

/** Runs some probes side by side, and those that wait for time-outs beside all others. */
async function runAll(target: Target, withoutWaiting: boolean, stop: AbortSignal): Promise<Proven[]> {
  const all = Object.entries(themesOf()).flatMap(([theme, probes]) => probes.map((probe) => ({ theme, probe })));
  const proven: Proven[] = [];
  const run = async (at: number, theme: string, probe: Probe) => {
    const { name, source } = probe;
    proven[at] = { theme, name, source, answers: await runProbe(target, probe, stop) };
  };
  const waits = ({ theme }: { theme: string }) => theme === "timeOuts";
  const queue = all.entries();
  const work = async () => {
    for (const [at, each] of queue) if (!waits(each)) await run(at, each.theme, each.probe);
  };
  const waiting = all.map((each, at) => waits(each) && !withoutWaiting && run(at, each.theme, each.probe));
  const ends = await Promise.allSettled([...waiting, ...Array.from({ length: sideBySide }, work)]);
  stop.throwIfAborted();
  for (const end of ends) if (end.status === "rejected") throw end.reason;
  return proven.filter(Boolean);
}

/** Prints each difference. */
function report(proven: Proven[], milliseconds: number, file: string): boolean {
  const differing = proven.filter(({ answers }) => answers.some(({ differs }) => differs));
  for (const { theme, name, source, answers } of differing) {
    console.log(`${theme}: ${name} (${source})`);
    for (const { call, expected, answer } of answers.filter(({ differs }) => differs))
      console.log(
        `  ${call}\n    expected ${JSON.stringify(expected, writeRegularExpression)}\n    got      ${JSON.stringify(answer)}`,
      );
  }
  const calls = proven.flatMap(({ answers }) => answers).length;
  const seconds = Math.ceil(milliseconds / 1000);
  console.log(
    `${differing.length} of ${proven.length} probes differ (${calls} calls, ${seconds} s; all answers: ${file})`,
  );
  return differing.length === 0;
}

const writeRegularExpression = (_: string, value: unknown) => (value instanceof RegExp ? `${value}` : value);

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort());
try {
  if (process.argv.includes("--help")) console.log(usage);
  else process.exitCode = (await prove(readOptions(), stop.signal)) ? 0 : 1;
} catch (error) {
  if (stop.signal.aborted) console.error("Interrupted");
  else console.error(error instanceof Refusal ? error.message : error);
  process.exitCode = 2;
}
