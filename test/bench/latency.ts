import { join } from "node:path";
import { ExecuteStatementCommand, RDSDataClient } from "@aws-sdk/client-rds-data";
import { clusterArn, masterSecretArn } from "../../infra/aws-local/arns.ts";
import { startDataApi } from "../../infra/aws-local/data-api/server.ts";
import { startLambda } from "../../infra/aws-local/lambda/lambda.ts";
import { build } from "../../infra/build/build.ts";
import { settingsOf } from "../../infra/local/functions.ts";
import { functionName, stem } from "../../lib/contract/declare.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { key, useDatabase } from "../support/environment.ts";
import { median, type Row, sideBySide, timed } from "./measure.ts";
import { eventOf } from "./requests.ts";
import type { Stage } from "./stage.ts";

/** The duration of a call within the region (RDS Data API, measured by others). */
const callInMilliseconds = 17;
const rounds = 25;
const cluster = {
  resourceArn: clusterArn,
  secretArn: masterSecretArn,
};

/** Compares p50 of every administrative endpoint with one call. The Data API delays each answer by 17 ms. */
export async function latency(stage: Stage): Promise<Row[]> {
  const { secrets } = stage.dataApi;
  const dataApi = await startDataApi({ databaseUrl: stage.databaseUrl, secrets, key, latency: callInMilliseconds });
  const catalogue = await stage.catalogue(10_000);
  const outdir = join(catalogue.outdir, "../latency");
  await build({ outdir });
  useDatabase(catalogue.database, dataApi.url);
  const lambda = await startLambda({ outdir, settingsOf });
  const client = new RDSDataClient({ credentials: key });
  const [oneCall = 0] = await sideBySide(
    [() => client.send(new ExecuteStatementCommand({ ...cluster, database: catalogue.database, sql: "select 1" }))],
    rounds,
  );
  const rows: Row[] = [{ what: "one call", value: oneCall, unit: "ms" }];
  const served = endpoints.filter((each) => each.permission && !each.files && lambda.names.has(functionName(each)));
  for (const declaration of served) {
    const times: number[] = [];
    for (let round = -3; round < rounds; round++) {
      // Deletions match no record, so every round finds the same records.
      const unique = `Bench ${round} ${Math.random()}`;
      const event = eventOf({
        name: stem(declaration),
        method: declaration.method,
        path: { id: declaration.method === "DELETE" ? "999999999" : "20" },
        query: { client: "1", limit: "50" },
        body: { name: unique, username: unique, first_name: unique, description: "Measured" },
      });
      const time = await timed(() => lambda.invoke(functionName(declaration), event));
      if (round >= 0) times.push(time);
    }
    const p50 = median(times);
    rows.push({
      what: `${stem(declaration)} (${p50.toFixed(1)} ms)`,
      value: p50 / oneCall,
      unit: "x",
      bound: declaration.method === "GET" ? 1.35 : 1.25,
    });
  }
  await dataApi.close();
  return rows;
}
