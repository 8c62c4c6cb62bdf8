import { join } from "node:path";
import { build } from "../../infra/build.ts";
import { startDataApi } from "../../infra/local/data-api/server.ts";
import { startLambda } from "../../infra/local/lambda.ts";
import { functionName, stem } from "../../lib/contract/declare.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { useDatabase } from "../support/environment.ts";
import { median, type Row, timed } from "./measure.ts";
import { eventOf } from "./requests.ts";
import type { Stage } from "./stage.ts";

/** What a call takes in the region (RDS Data API, measured by others). */
const callInMilliseconds = 17;
const rounds = 25;

/** p50 of every administrative endpoint over one call of a Data API that answers 17 ms late. */
export async function latency(stage: Stage): Promise<Row[]> {
  const dataApi = await startDataApi({ databaseUrl: stage.databaseUrl, latency: callInMilliseconds });
  const outdir = join(stage.outdir, "../latency");
  await build({ outdir });
  useDatabase("small", dataApi.url);
  const lambda = await startLambda({ outdir });
  const rows: Row[] = [];
  for (const declaration of endpoints.filter(({ permission, files }) => permission && !files)) {
    const times: number[] = [];
    for (let round = -3; round < rounds; round++) {
      // Ids that match nothing: every step of the statement but the last write runs, and nothing piles up.
      const unique = `Bench ${round} ${Math.random()}`;
      const event = eventOf({
        name: stem(declaration),
        method: declaration.method,
        path: declaration.method === "GET" ? { id: "20" } : { id: "999999999" },
        query: { client: "1", limit: "50" },
        body: { name: unique, username: unique, first_name: unique, description: "Measured" },
      });
      const time = await timed(() => lambda.invoke(functionName(declaration), event));
      if (round >= 0) times.push(time);
    }
    const p50 = median(times);
    rows.push({
      what: `${stem(declaration)} (${p50.toFixed(1)} ms)`,
      value: p50 / callInMilliseconds,
      unit: "x",
      bound: 1.35,
    });
  }
  await dataApi.close();
  return rows;
}
