import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  BeginTransactionCommand,
  CommitTransactionCommand,
  ExecuteStatementCommand,
  type ExecuteStatementCommandInput,
  RDSDataClient,
} from "@aws-sdk/client-rds-data";
import { clusterArn, masterSecretArn } from "../../../../infra/aws-local/arns.ts";
import { type DataApiOptions, startDataApi } from "../../../../infra/aws-local/data-api/server.ts";
import { startPostgres } from "../../../../infra/aws-local/postgres/server.ts";
import { copyEmptyCluster } from "../../../support/empty-cluster.ts";
import { key } from "../../../support/environment.ts";

export const resourceArn = clusterArn;
export const secretArn = masterSecretArn;

const target = { resourceArn, secretArn, database: "postgres" };

type Extra = Partial<ExecuteStatementCommandInput>;

/** A PostgreSQL of its own with the emulator before it, and the real client pointed at that. */
export async function startEmulator(options: Partial<DataApiOptions> = {}) {
  const directory = await mkdtemp(join(tmpdir(), "colophon-data-api-"));
  await copyEmptyCluster(join(directory, "postgres"));
  const postgres = await startPostgres({ directory: join(directory, "postgres"), durable: false });
  const api = await startDataApi({ databaseUrl: postgres.url, key, ...options });
  const client = clientOf(api.url);
  return {
    api,
    postgres,
    client,
    ...callsOf(client),
    async stop() {
      client.destroy();
      await api.close();
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
    begin: async () => (await client.send(new BeginTransactionCommand(target))).transactionId ?? "",
    commit: (transactionId: string) =>
      client.send(new CommitTransactionCommand({ resourceArn, secretArn, transactionId })),
  };
}

export type Emulator = Awaited<ReturnType<typeof startEmulator>>;

export function clientOf(endpoint: string, maxAttempts = 3): RDSDataClient {
  return new RDSDataClient({ endpoint, region: "eu-central-1", credentials: key, maxAttempts });
}

/** Name, status and message of the error that a call fails with. */
export async function errorOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => "no error",
    (error) => `${error.name} ${error.$metadata?.httpStatusCode}: ${error.message}`,
  );
}
