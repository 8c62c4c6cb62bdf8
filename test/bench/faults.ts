import { commonFaults } from "../../infra/aws-local/test/data-api.ts";
import { eventOf } from "../../infra/command/event.ts";
import { openDatabase } from "../support/database.ts";
import { numbers, seed } from "../support/seed.ts";
import type { Row } from "./measure.ts";
import type { Stage } from "./stage.ts";

const rates = [0, 0.1, 0.3];
const writes = 400;
const connections = 8;

/** Adds permissions while a share of the calls to the Data API fails, and counts what was lost or done twice. */
export async function faults(stage: Stage): Promise<Row[]> {
  const { lambda, databaseUrl } = await stage.catalogue(10_000);
  const sql = openDatabase(databaseUrl, { max: 1 });
  const rows: Row[] = [];
  for (const rate of rates) {
    const random = numbers(seed);
    stage.dataApi.intercept(() =>
      random() < rate ? commonFaults[Math.floor(commonFaults.length * random())] : undefined,
    );
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
        -- Each row has one record in the ledger.
        abs(
          (select count(*) from changes where endpoint = 'admin-permissions/add')
          - (select count(*) from permissions where name = any(${names}))
        ) as surplus
    `;
    await sql`delete from changes where endpoint = 'admin-permissions/add'`;
    const share = `${100 * rate} % faults`;
    rows.push(
      { what: `${share}: writes a second, of ${connections} clients`, value: writes / seconds, unit: "/s" },
      { what: `${share}: writes that failed`, value: writes - succeeded.length, unit: "", bound: 0 },
      { what: `${share}: writes lost`, value: succeeded.length - Number(added?.done), unit: "", bound: 0 },
      { what: `${share}: writes done twice`, value: Number(added?.surplus), unit: "", bound: 0 },
    );
  }
  stage.dataApi.intercept(undefined);
  await sql.end();
  return rows;
}
