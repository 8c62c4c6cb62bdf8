import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "pg";
import { bind } from "../../infra/aws-local/data-api/parameters.ts";
import { startLambda } from "../../infra/aws-local/lambda/lambda.ts";
import { settingsOf } from "../../infra/local/functions.ts";
import type { Statement } from "../../infra/local/query-plan.ts";
import { endpointPath, functionName } from "../../lib/contract/declare.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { useDatabase } from "../support/environment.ts";
import { type Row, sideBySide } from "./measure.ts";
import { startRecorder } from "./recorder.ts";
import type { Size, Stage } from "./stage.ts";

const rounds = 200;
const millisecondsMax = 10;

/** The statement that an endpoint sends for its sample event. */
export interface Captured {
  /** The endpoint's path in `functions`. */
  readonly name: string;
  /** Path and query of the request. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly statement: Statement;
}

/** PostgreSQL's time for the statement of every read, planned each time as by the Data API of AWS, and prepared. */
export async function statements(stage: Stage): Promise<Row[]> {
  const size = 20_000;
  const { database } = await stage.catalogue(size);
  const client = new Client({ connectionString: `${stage.databaseUrl}/${database}`, options: "-c TimeZone=UTC" });
  await client.connect();
  const rows: Row[] = [];
  try {
    for (const { name, statement } of await capture(stage, size)) {
      const { text, values } = bind(statement.sql, statement.parameters);
      const query = { text, values: [...values] };
      const works = [() => client.query(query), () => client.query({ name, ...query })];
      const [planned = Number.NaN, prepared = Number.NaN] = await sideBySide(works, rounds);
      rows.push({ what: name, value: planned, unit: "ms", bound: millisecondsMax });
      rows.push({ what: "  prepared", value: prepared, unit: "ms" });
    }
  } finally {
    await client.end();
  }
  return rows;
}

/** Calls each endpoint that reads, and notes the statement that it sends. */
export async function capture(stage: Stage, size: Size): Promise<Captured[]> {
  const recorder = await startRecorder(stage.dataApi.url);
  const { database, outdir } = await stage.catalogue(size);
  useDatabase(database, recorder.url);
  const lambda = await startLambda({ outdir, settingsOf, variables: { ...process.env } });
  const captured: Captured[] = [];
  try {
    for (const declaration of endpoints.filter(
      ({ method, needsFileService }) => method === "GET" && !needsFileService,
    )) {
      const name = endpointPath(declaration);
      const event = JSON.parse(await readFile(join(import.meta.dirname, "../../events", `${name}.json`), "utf8"));
      const { path, queryStringParameters, headers } = event;
      const invocation = await lambda.invoke(functionName(declaration), event);
      if ("error" in invocation) throw new Error(`${name}: ${invocation.error.errorMessage}`);
      const { sql, parameters = [] } = JSON.parse(recorder.last());
      const target = queryStringParameters ? `${path}?${new URLSearchParams(queryStringParameters)}` : path;
      captured.push({ name, target, headers, statement: { sql, parameters } });
    }
  } finally {
    await lambda.close();
    recorder.close();
  }
  return captured;
}
