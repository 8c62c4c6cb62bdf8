import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  BatchExecuteStatementCommand,
  BeginTransactionCommand,
  CommitTransactionCommand,
  ExecuteStatementCommand,
  type ExecuteStatementCommandInput,
  type Field,
  RDSDataClient,
  RollbackTransactionCommand,
  type SqlParameter,
} from "@aws-sdk/client-rds-data";
import type { Limits } from "../../../../infra/aws-local/data-api/limits.ts";
import { type DataApiOptions, startDataApi } from "../../../../infra/aws-local/data-api/server.ts";
import { startPostgres } from "../../../../infra/aws-local/postgres/server.ts";
import { copyEmptyCluster } from "../../../support/empty-cluster.ts";
import { key } from "../../../support/environment.ts";

export const resourceArn = "arn:aws:rds:eu-central-1:123456789012:cluster:colophon";
export const secretArn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:colophon";
const target = { resourceArn, secretArn, database: "postgres" };

type Extra = Partial<ExecuteStatementCommandInput>;

/** A PostgreSQL of its own with the emulator before it, and the real client pointed at that. */
export async function startEmulator(options: Partial<DataApiOptions> = {}) {
  const directory = await mkdtemp(join(tmpdir(), "colophon-data-api-"));
  const start = (port?: number) =>
    startPostgres({ directory: join(directory, "postgres"), durable: false, ...(port && { port }) });
  await copyEmptyCluster(join(directory, "postgres"));
  let postgres = await start();
  const startApi = (options: Partial<DataApiOptions>) => startDataApi({ databaseUrl: postgres.url, key, ...options });
  const api = await startApi(options);
  const apis = [api];
  const client = clientOf(api.url);
  return {
    api,
    get postgres() {
      return postgres;
    },
    client,
    ...callsOf(client),
    /** Calls to another emulator with other limits before the same PostgreSQL. */
    async limited(limits: Partial<Limits>) {
      const api = await startApi({ limits });
      apis.push(api);
      return callsOf(clientOf(api.url));
    },
    /** Stops PostgreSQL, and starts it a moment later where it was. */
    async restart() {
      await postgres.stop();
      await sleep(200);
      postgres = await start(Number(new URL(postgres.url).port));
    },
    async stop() {
      client.destroy();
      await Promise.all(apis.map((each) => each.close()));
      await postgres.stop();
      await rm(directory, { recursive: true });
    },
  };
}

/** What the client can call, as short as tests want it. */
function callsOf(client: RDSDataClient) {
  const execute = (sql: string, extra: Extra = {}) =>
    client.send(new ExecuteStatementCommand({ ...target, sql, ...extra }));
  return {
    execute,
    /** The first value of the first row. */
    value: async (sql: string, extra: Extra = {}) => (await execute(sql, extra)).records?.[0]?.[0],
    /** All first values. */
    column: async (sql: string, extra: Extra = {}) => (await execute(sql, extra)).records?.map(([field]) => field),
    batch: (sql: string, parameterSets: SqlParameter[][], transactionId?: string) =>
      client.send(new BatchExecuteStatementCommand({ ...target, sql, parameterSets, transactionId })),
    begin: async () => (await client.send(new BeginTransactionCommand(target))).transactionId ?? "",
    commit: (transactionId: string) =>
      client.send(new CommitTransactionCommand({ resourceArn, secretArn, transactionId })),
    rollback: (transactionId: string) =>
      client.send(new RollbackTransactionCommand({ resourceArn, secretArn, transactionId })),
  };
}

export type Emulator = Awaited<ReturnType<typeof startEmulator>>;

export function clientOf(endpoint: string, maxAttempts = 3): RDSDataClient {
  return new RDSDataClient({ endpoint, region: "eu-central-1", credentials: key, maxAttempts });
}

export const parameter = (name: string, value: Field, typeHint?: SqlParameter["typeHint"]): SqlParameter => ({
  name,
  value,
  ...(typeHint && { typeHint }),
});

/** Name, status and message of the error that a call fails with. */
export async function errorOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => "no error",
    (error) => `${error.name} ${error.$metadata?.httpStatusCode}: ${error.message}`,
  );
}
