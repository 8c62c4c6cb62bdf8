import { createServer } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import type { Field } from "@aws-sdk/client-rds-data";
import { Option } from "@commander-js/extra-typings";
import type { APIGatewayProxyResult } from "aws-lambda";
import { escapeLiteral } from "pg";
import { clientVariables } from "../../aws-local/client-variables.ts";
import { listenToClients } from "../../aws-local/http/listen.ts";
import { newKey } from "../../aws-local/http/signature.ts";
import { startLambda } from "../../aws-local/lambda/lambda.ts";
import { runningPostgres } from "../../aws-local/postgres/cluster.ts";
import { openSecrets, secretsOperationOf } from "../../aws-local/secrets-manager/secrets-manager.ts";
import { cachedBuild } from "../../build/cached-build.ts";
import { newCommand, runCommand } from "../../command/command.ts";
import { eventOf, functionNameOf, functionPathOf } from "../../command/event.ts";
import { print } from "../../command/print.ts";
import { localDirectory } from "../credentials.ts";
import { defaultName } from "../database.ts";
import { databaseUrlFrom } from "../database-url.ts";
import { settingsOf, variablesOf } from "../stage/functions.ts";
import { newSecrets } from "../stage/secrets.ts";
import { planOf, type Statement } from "./query-plan.ts";
import { readableSql } from "./readable.ts";

export const command = newCommand("npm run sql")
  .description("Prints the statement that a function sends, and its plan.")
  .argument("<name>", "as contributors/list")
  .argument("[payload]", "JSON, or a file with it: path, query, body and as, which replace those of the sample event")
  .option("--explain", "run the statement, roll it back, and print its plan")
  .addOption(
    new Option("--data <directory>", "the directory of the running service's data").default(localDirectory, ".local"),
  )
  .option("--database <url>", "another database than that one; a URL with a password goes into COLOPHON_DATABASE_URL");

/**
 * Runs functions with a Data API that records statements, and returns an error or the rows that the caller chose.
 * Secrets can be read.
 */
export async function startRecorder(outdir: string) {
  let sent: Statement[] = [];
  let rows: readonly (readonly Field[])[] = [];
  const secrets = openSecrets(newSecrets("postgres://colophon@127.0.0.1"));
  const server = createServer(async (incoming, response) => {
    const body = await json(incoming);
    const secretsOperation = secretsOperationOf(incoming);
    if (secretsOperation) return response.end(secrets.respond(secretsOperation, body));
    const row = incoming.url === "/Execute" ? rows[sent.push(body as Statement) - 1] : undefined;
    // No function retries after this error. BeginTransaction succeeds, so that the first statement is sent.
    const [status, result] = row
      ? [200, { records: [row] }]
      : incoming.url === "/BeginTransaction"
        ? [200, { transactionId: "none" }]
        : [400, { code: "BadRequestException" }];
    response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(result));
  });
  const { url: dataApiUrl, close } = await listenToClients(server);
  const stage = { database: defaultName, allowedOrigins: ["http://localhost:3000"] };
  const variables = { ...clientVariables(newKey(), { dataApiUrl }), ...variablesOf(stage) };
  const lambda = await startLambda({ outdir, settingsOf, variables, print: () => {} });
  return {
    /** The statements that the function sends until one fails. The first ones return these rows, the next one fails. */
    async statementsOf(name: string, event: unknown, results: typeof rows = []): Promise<[Statement, ...Statement[]]> {
      sent = [];
      rows = results;
      const invocation = await lambda.invoke(functionNameOf(name), event);
      const [first, ...others] = sent;
      if (first) return [first, ...others];
      const result = "error" in invocation ? invocation.error.errorMessage : textOf(invocation.result);
      throw new Error(`No statement is sent: ${result}`);
    },
    close,
  };
}

/** The body of an endpoint's response, or the result of an operator's function. */
const textOf = (result: unknown): string =>
  (result as Partial<APIGatewayProxyResult> | null)?.body ?? JSON.stringify(result);

export function readable({ sql, parameters }: Statement): string {
  const list = parameters.map(({ name, value }) => `:${name} = ${literal(Object.values(value)[0], value.isNull)}`);
  return `${readableSql(sql)}\n\n${list.join("\n")}`.trimEnd();
}

const literal = (value: unknown, isNull = false) =>
  isNull ? "null" : typeof value === "string" ? escapeLiteral(value) : String(value);

if (import.meta.main) {
  await runCommand(
    command.action(async (input, payload, values) => {
      const database = databaseUrlFrom(values.database);
      const name = functionPathOf(input);
      const event = await eventOf(name, payload);
      const { outdir } = await cachedBuild();
      const recorder = await startRecorder(outdir);
      try {
        // Later ones would depend on the result of the first.
        const [statement] = await recorder.statementsOf(name, event);
        print(readable(statement));
        if (!values.explain) return;
        const url = database ?? `${await runningPostgres(join(values.data, "postgres"))}/${defaultName}`;
        print(`\n${await planOf(statement, url)}`);
      } finally {
        await recorder.close();
      }
    }),
  );
}
