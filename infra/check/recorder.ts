import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { Field } from "@aws-sdk/client-rds-data";
import type { APIGatewayProxyResult } from "aws-lambda";
import { publicTimeouts } from "../../lib/aws/retry.ts";
import { clientVariables } from "../aws-local/client-variables.ts";
import type { SqlParameter } from "../aws-local/data-api/requests.ts";
import { listenToClients } from "../aws-local/http/listen.ts";
import { newKey } from "../aws-local/http/signature.ts";
import { Environment } from "../aws-local/lambda/environment.ts";
import { hasTimedOut } from "../aws-local/lambda/failure.ts";
import { lambdaLimits, type Variables } from "../aws-local/lambda/settings.ts";
import { openSecrets, secretsOperationOf } from "../aws-local/secrets-manager/secrets-manager.ts";
import { defaultName } from "../local/database.ts";
import { variablesOf } from "../local/stage/functions.ts";
import { newSecrets } from "../local/stage/secrets.ts";
import { notInTime } from "./in-time.ts";

/** A statement as it is sent to the Data API. */
export interface Statement {
  readonly sql: string;
  readonly parameters: SqlParameter[];
}

/** How long a function may take. On a quiet machine it takes milliseconds. */
const limitsDefault = {
  /** After so long it may have sent a statement twice, so it runs again. */
  attemptInMilliseconds: publicTimeouts.attemptInMilliseconds,
  /** After so long it is ended. */
  functionInMilliseconds: 60_000,
};
const attemptsMax = 5;
const loadingInMilliseconds = 60_000;

/**
 * Runs functions with a Data API that records statements, and returns an error or the rows that the caller chose.
 * Secrets can be read. All functions run in one environment, since most of the time would be to load the SDK for each.
 * @param outdir the built functions
 */
export async function startRecorder(outdir: string, limits = limitsDefault) {
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
  const environment = await openEnvironment({ ...clientVariables(newKey(), { dataApiUrl }), ...variablesOf(stage) });

  /** The body of an endpoint's response, or the result of an operator's function, or the error. */
  const run = async (path: string, event: unknown): Promise<string> => {
    const { result } = environment.run({
      requestId: randomUUID(),
      event: JSON.stringify({ file: join(outdir, path, "index.mjs"), event }),
      timeoutInMilliseconds: limits.functionInMilliseconds,
      // No function is to give up before that.
      remainingInMilliseconds: 2 * limits.functionInMilliseconds,
      ...lambdaLimits,
    });
    const outcome = await result.catch((error) => error);
    if (hasTimedOut(outcome)) throw notInTime(path, limits.functionInMilliseconds);
    if (environment.hasEnded) throw new Error(`${path} ends its environment: ${outcome.message}`);
    return outcome instanceof Error ? outcome.message : textOf(JSON.parse(outcome.text));
  };

  return {
    /** The statements that the function sends until one fails. The first ones return these rows, the next one fails. */
    async statementsOf(path: string, event: unknown, results: typeof rows = []): Promise<[Statement, ...Statement[]]> {
      for (let attempt = 0; attempt < attemptsMax; attempt++) {
        sent = [];
        rows = results;
        const startedAt = performance.now();
        const text = await run(path, event);
        if (performance.now() - startedAt > limits.attemptInMilliseconds) continue;
        const [first, ...others] = sent;
        if (first) return [first, ...others];
        throw new Error(`${path} sends no statement: ${text}`);
      }
      throw notInTime(path, limits.attemptInMilliseconds);
    },

    async close() {
      await environment.end();
      await close();
    },
  };
}

async function openEnvironment(variables: Variables): Promise<Environment> {
  const imports = [import.meta.resolve("../local/stage/shared-sharp.ts")];
  for (const each of imports) await import(each);
  const environment = new Environment({
    name: "every-function",
    file: fileURLToPath(import.meta.resolve("./every-function.ts")),
    variables,
    settings: { imports },
    loadingInMilliseconds,
    print: () => {},
  });
  await environment.loaded;
  return environment;
}

/** The body of an endpoint's response, or the result of an operator's function. */
const textOf = (result: unknown): string =>
  (result as Partial<APIGatewayProxyResult> | null)?.body ?? JSON.stringify(result);
