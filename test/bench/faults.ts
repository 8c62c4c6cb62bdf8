import { startLambda } from "../../infra/aws-local/lambda/lambda.ts";
import { eventOf } from "../../infra/command/event.ts";
import { settingsOf } from "../../infra/local/stage/functions.ts";
import { openDatabase } from "../support/database.ts";
import { useDatabase } from "../support/environment.ts";
import { startFaultyProxy } from "../support/faulty-proxy.ts";
import { numbers, seed } from "../support/seed.ts";
import type { Row } from "./measure.ts";
import type { Stage } from "./stage.ts";

const rates = [0, 0.1, 0.3];
const writes = 400;
const connections = 8;
const json = (type: string) => ({ "Content-Type": "application/json", "x-amzn-ErrorType": type });
const unavailable = { status: 503, headers: json("ServiceUnavailableError"), body: "{}" };
const throttled = { status: 400, headers: json("ThrottlingException"), body: '{"message":"Rate exceeded"}' };

/** Adds permissions while a share of the calls to the Data API fails, and counts what was lost or done twice. */
export async function faults(stage: Stage): Promise<Row[]> {
  const { database, outdir } = await stage.catalogue(10_000);
  const sql = openDatabase(`${stage.databaseUrl}/${database}`, { max: 1 });
  const rows: Row[] = [];
  for (const rate of rates) {
    const random = numbers(seed);
    const proxy = await startFaultyProxy({ target: stage.dataApi.url, unavailable, throttled, random, rate });
    useDatabase(database, proxy.url);
    const lambda = await startLambda({ outdir, settingsOf, variables: { ...process.env } });
    const names = Array.from({ length: writes }, (_, number) => `Bench ${rate} ${number}`);
    const waiting = [...names];
    const succeeded: string[] = [];
    const send = async () => {
      for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
        const payload = { as: "local-administrator", body: { name, description: "By the bench" } };
        const event = await eventOf("admin-permissions/add", JSON.stringify(payload));
        const invocation = await lambda.invoke("admin-permissions-add", event);
        if (/"statusCode":200/.test(JSON.stringify(invocation))) succeeded.push(name);
      }
    };
    const start = performance.now();
    await Promise.all(Array.from({ length: connections }, send));
    const seconds = (performance.now() - start) / 1_000;
    const [added] = await sql`
      select
        (select count(*) from permissions where name = any(${succeeded})) as done,
        (select count(*) from permissions where name = any(${names})) as rows,
        (select count(*) from changes where endpoint = 'admin-permissions/add') as changes
    `;
    await sql`delete from changes where endpoint = 'admin-permissions/add'`;
    await lambda.close();
    await proxy.close();
    const share = `${100 * rate} % faults`;
    rows.push(
      { what: `${share}: writes a second, of ${connections} clients`, value: writes / seconds, unit: "/s" },
      { what: `${share}: writes that failed`, value: writes - succeeded.length, unit: "", bound: 0 },
      { what: `${share}: writes lost`, value: succeeded.length - Number(added?.done), unit: "", bound: 0 },
      // Each row has one record in the ledger.
      {
        what: `${share}: writes done twice`,
        value: Math.abs(Number(added?.changes) - Number(added?.rows)),
        unit: "",
        bound: 0,
      },
    );
  }
  await sql.end();
  return rows;
}
