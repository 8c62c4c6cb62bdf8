import { deepStrictEqual } from "node:assert";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "pg";
import { serviceLimits } from "../../infra/aws-local/data-api/limits.ts";
import { bind } from "../../infra/aws-local/data-api/parameters.ts";
import { run } from "../../infra/aws-local/data-api/query.ts";
import { startLambda } from "../../infra/aws-local/lambda/lambda.ts";
import { build } from "../../infra/build/build.ts";
import { settingsOf } from "../../infra/local/functions.ts";
import type { Statement } from "../../infra/local/plan.ts";
import { useDatabase } from "../support/environment.ts";
import { median, type Row } from "./measure.ts";
import { minimalStatement } from "./minimal.ts";
import { type Read, reads } from "./reads.ts";
import { startRecorder } from "./recorder.ts";
import { call } from "./requests.ts";
import type { Stage } from "./stage.ts";

const blocks = 7;
const rounds = 40;
const ratioMax = 1.3;

/**
 * Compares PostgreSQL's time for the statement of every read with that for a minimal statement with the same answer.
 * Both are sent in the same way. The time includes planning, because each execution is planned anew.
 */
export async function statements(stage: Stage): Promise<Row[]> {
  const { database, outdir } = await stage.catalogue(20_000);
  const recorder = await startRecorder(stage.dataApi.url);
  const ownOutdir = join(outdir, "../statements");
  await build({ outdir: ownOutdir });
  useDatabase(database, recorder.url);
  const lambda = await startLambda({ outdir: ownOutdir, settingsOf });
  const client = await countingClient(`${stage.databaseUrl}/${database}`);
  const { rows: releases } = await client.query("select schema from releases");
  const rows: Row[] = [];
  try {
    for (const read of reads) {
      const body = await call(lambda, read.call);
      const { sql, parameters = [] } = JSON.parse(recorder.last());
      const minimal = await minimalStatement(read, releases[0].schema);
      await expectSameAnswer(client, read, minimal, body);
      rows.push(...(await compare(client, read.file, { sql, parameters }, minimal)));
    }
  } finally {
    await client.end();
    recorder.close();
  }
  return rows;
}

/** A session like the Data API's, in which pg_stat_statements counts. */
async function countingClient(connectionString: string): Promise<Client> {
  const settings = { TimeZone: "UTC", "pg_stat_statements.track": "top", "pg_stat_statements.track_planning": "on" };
  const options = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
  const client = new Client({ connectionString, options: options.join(" ") });
  await client.connect();
  await client.query("create extension if not exists pg_stat_statements");
  return client;
}

const limits = { ...serviceLimits, rowBytes: serviceLimits.resultBytes };

/** The minimal statement returns a body, or the records of a list and the number of all records. */
async function expectSameAnswer(client: Client, read: Read, minimal: Statement, body: string): Promise<void> {
  if (read.random === "all") return;
  const { rows, columns = [] } = await run(client, bind(minimal.sql, minimal.parameters), limits);
  const [row = []] = rows;
  const { records, max, body: single } = Object.fromEntries(columns.map(({ name }, index) => [name, row[index]]));
  const plain = (text: string) => (read.random ? text.replaceAll(read.random, "") : text);
  if (single !== undefined) return deepStrictEqual(single, body);
  const [, text, rest] = /^\{"[^"]*":\[(.*)\](.*)$/s.exec(body) ?? /^\[(.*)\](.*)$/s.exec(body) ?? [];
  deepStrictEqual(plain(records ?? ""), plain(text ?? ""));
  if (rest) deepStrictEqual(rest.includes(`"max":${max},`), true, `${max} is not the number of records in ${rest}`);
}

async function compare(client: Client, what: string, ours: Statement, minimal: Statement): Promise<Row[]> {
  const anew = await ratio([planned(client, ours), planned(client, minimal)], client);
  const kept = await ratio(
    await Promise.all([prepared(client, ours, "ours"), prepared(client, minimal, "minimal")]),
    client,
  );
  await client.query("deallocate all");
  const times = ({ ours, minimal }: Comparison) => `${ours.toFixed(2)} ms to ${minimal.toFixed(2)} ms`;
  const cpu = anew.processor === undefined ? "" : `, ${anew.processor.toFixed(2)} x CPU`;
  return [
    { what: `${what} (${times(anew)}${cpu})`, value: anew.ratio, unit: "x", bound: ratioMax },
    { what: `${what}, plans kept (${times(kept)})`, value: kept.ratio, unit: "x" },
  ];
}

interface Comparison {
  readonly ratio: number;
  /** The ratio of the backend's CPU time, including parsing and sending. */
  readonly processor: number | undefined;
  /** Milliseconds per statement. */
  readonly ours: number;
  readonly minimal: number;
}

type Work = () => Promise<unknown>;

/** Measures both in turns, in blocks, and returns the median ratio of the blocks. */
async function ratio([ours, minimal]: readonly Work[], client: Client): Promise<Comparison> {
  if (!ours || !minimal) throw new TypeError("Two statements are compared");
  const found: { ours: Cost; minimal: Cost }[] = [];
  for (let block = -1; block < blocks; block++) {
    const both = { ours: await costOf(client, ours), minimal: await costOf(client, minimal) };
    if (block >= 0) found.push(both);
  }
  const processor = median(found.map(({ ours, minimal }) => ours.processor / minimal.processor));
  return {
    ratio: median(found.map(({ ours, minimal }) => ours.milliseconds / minimal.milliseconds)),
    processor: Number.isFinite(processor) ? processor : undefined,
    ours: median(found.map(({ ours }) => ours.milliseconds)),
    minimal: median(found.map(({ minimal }) => minimal.milliseconds)),
  };
}

/** Sends an unnamed statement, as the Data API does, so PostgreSQL plans it each time. */
const planned = (client: Client, { sql, parameters }: Statement): Work => {
  const bound = bind(sql, parameters);
  return () => run(client, bound, limits);
};

async function prepared(client: Client, { sql, parameters }: Statement, name: string): Promise<Work> {
  const { text, types, values } = bind(sql, parameters);
  const list = types.length > 0 ? `(${types.map((type) => typeNames[type] ?? "unknown").join()})` : "";
  await client.query(`prepare ${name} ${list} as ${text}`);
  const given = values.map((value) => (value === null ? "null" : client.escapeLiteral(String(value))));
  return () => client.query(`execute ${name} ${given.length > 0 ? `(${given.join()})` : ""}`);
}

const typeNames: Readonly<Record<number, string>> = { 16: "boolean", 20: "bigint", 25: "text", 701: "float8" };

interface Cost {
  readonly milliseconds: number;
  readonly processor: number;
}

async function costOf(client: Client, work: Work): Promise<Cost> {
  await client.query("select pg_stat_statements_reset()");
  const before = await processorTime(client);
  for (let round = 0; round < rounds; round++) await work();
  const processor = (await processorTime(client)) - before;
  const { rows } = await client.query(
    `select sum(total_plan_time + total_exec_time) as milliseconds from pg_stat_statements where calls >= $1`,
    [rounds],
  );
  return { milliseconds: rows[0].milliseconds / rounds, processor };
}

/** The CPU time of the session's backend; NaN without Linux's `/proc`. */
async function processorTime(client: Client): Promise<number> {
  const { processID } = client as unknown as { processID: number };
  const text = await readFile(`/proc/${processID}/schedstat`, "utf8").catch(() => "");
  return text === "" ? Number.NaN : Number(text.split(" ")[0]);
}
