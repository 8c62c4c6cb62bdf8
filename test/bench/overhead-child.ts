import { join } from "node:path";
import { PassThrough } from "node:stream";
import { ExecuteStatementCommand, type ExecuteStatementCommandInput, RDSDataClient } from "@aws-sdk/client-rds-data";
import { contextOf } from "../../infra/aws-local/lambda/context.ts";
import { startLambda } from "../../infra/aws-local/lambda/lambda.ts";
import { provideAwsLambda } from "../../infra/aws-local/lambda/stream.ts";
import { settingsOf } from "../../infra/local/functions.ts";
import { sideBySide } from "./measure.ts";
import { type Call, call, eventOf } from "./requests.ts";

const rounds = 400;
const [outdir = "", list = "[]"] = process.argv.slice(2);
const calls: Call[] = JSON.parse(list);
const lambda = await startLambda({ outdir, settingsOf });
provideAwsLambda();
const client = new RDSDataClient({ maxAttempts: 1 });
const times: { ours: number; bare: number }[] = [];

/** The runtime's stream for a streaming function; its content is discarded. */
const responseStream = () => Object.assign(new PassThrough().resume(), { setContentType: () => undefined });

for (const each of calls) {
  const input = await statementOf(each);
  const bare = async () => {
    const { records } = await client.send(new ExecuteStatementCommand(input));
    return { statusCode: 200, headers: { "Content-Type": "application/json" }, body: JSON.stringify(records) };
  };
  const context = contextOf(each.name, 900_000);
  // Called as Lambda's runtime does, without the checks of the local gateway.
  const { handler } = await import(join(outdir, each.name, "index.mjs"));
  const ours = each.name.endsWith("list")
    ? () => handler(eventOf(each), responseStream(), context)
    : () => handler(eventOf(each), context);
  const [oursTime = 0, bareTime = 0] = await sideBySide([ours, bare], rounds, 100);
  times.push({ ours: oursTime, bare: bareTime });
}
process.send?.(times);
process.disconnect();

/** The statement that the function sends; the bare handler sends the same one. */
async function statementOf(each: Call): Promise<ExecuteStatementCommandInput> {
  await call(lambda, each);
  const response = await fetch(`${process.env.AWS_ENDPOINT_URL_RDS_DATA}/last`);
  return (await response.json()) as ExecuteStatementCommandInput;
}
