import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import type { Field } from "@aws-sdk/client-rds-data";
import type { APIGatewayProxyResult } from "aws-lambda";
import { clientVariables } from "../aws-local/client-variables.ts";
import type { SqlParameter } from "../aws-local/data-api/requests.ts";
import { listenToClients } from "../aws-local/http/listen.ts";
import { newKey } from "../aws-local/http/signature.ts";
import { startLambda } from "../aws-local/lambda/lambda.ts";
import { openSecrets, secretsOperationOf } from "../aws-local/secrets-manager/secrets-manager.ts";
import { functionNameOf } from "../command/event.ts";
import { defaultName } from "../local/database.ts";
import { settingsOf, variablesOf } from "../local/stage/functions.ts";
import { newSecrets } from "../local/stage/secrets.ts";

/** A statement as it is sent to the Data API. */
export interface Statement {
  readonly sql: string;
  readonly parameters: SqlParameter[];
}

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
      throw new Error(`${functionNameOf(name)} sends no statement: ${result}`);
    },
    close,
  };
}

/** The body of an endpoint's response, or the result of an operator's function. */
const textOf = (result: unknown): string =>
  (result as Partial<APIGatewayProxyResult> | null)?.body ?? JSON.stringify(result);
