import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ExecuteStatementCommandInput, RDSData } from "@aws-sdk/client-rds-data";
import { afterAll, beforeAll } from "vitest";
import { newKey } from "../http/signature.ts";
import { startPostgres } from "../postgres/server.ts";
import { clusterArn, masterSecretArn } from "../secrets-manager/arns.ts";
import { startDataApi } from "./data-api.ts";

export const key = newKey();

export const clientOf = (endpoint: string, maxAttempts = 3) =>
  new RDSData({ endpoint, region: "eu-central-1", credentials: key, maxAttempts });

/** A PostgreSQL of its own with a Data API before it, and the real client pointed at that. */
async function startEmulator() {
  const directory = await mkdtemp(join(tmpdir(), "aws-local-data-api-"));
  const postgres = await startPostgres({ directory: join(directory, "postgres"), durable: false });
  const api = await startDataApi({ databaseUrl: postgres.url, key });
  const client = clientOf(api.url);
  const target = { resourceArn: clusterArn, secretArn: masterSecretArn, database: "postgres" };
  const execute = (sql: string, extra: Partial<ExecuteStatementCommandInput> = {}) =>
    client.executeStatement({ ...target, sql, ...extra });
  return {
    api,
    postgres,
    client,
    target,
    execute,
    /** The first value of the first row. */
    async value(sql: string, extra: Partial<ExecuteStatementCommandInput> = {}) {
      const [field = {}] = (await execute(sql, extra)).records?.[0] ?? [];
      return Object.values(field)[0];
    },
    async stop() {
      client.destroy();
      await api.close();
      await postgres.stop();
      await rm(directory, { recursive: true });
    },
  };
}

/** An emulator for the tests of a file. */
export function useEmulator(): Awaited<ReturnType<typeof startEmulator>> {
  const emulator = {} as ReturnType<typeof useEmulator>;
  beforeAll(async () => void Object.assign(emulator, await startEmulator()));
  afterAll(() => emulator.stop());
  return emulator;
}

/** Name, status and message of the error that a call fails with. */
export const errorOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "no error",
    (error) => `${error.name} ${error.$metadata?.httpStatusCode}: ${error.message}`,
  );
