import { randomUUID } from "node:crypto";
import { ExecuteStatementCommand, RDSDataClient } from "@aws-sdk/client-rds-data";
import { afterAll, beforeAll, inject } from "vitest";
import { type Lambda, startLambda } from "../../infra/aws-local/lambda/lambda.ts";
import { createOwnedDatabase } from "../../infra/aws-local/postgres/database-owner.ts";
import { clusterArn } from "../../infra/aws-local/secrets-manager/arns.ts";
import type { Logins } from "../../infra/aws-local/secrets-manager/secrets-manager.ts";
import { type DataApi, startDataApi } from "../../infra/aws-local/test/data-api.ts";
import { errorOf } from "../../infra/aws-local/test/emulator.ts";
import { settingsOf } from "../../infra/local/stage/functions.ts";
import { newSecrets } from "../../infra/local/stage/secrets.ts";
import { openDatabase, type Sql } from "./database.ts";
import { key, useDatabase } from "./environment.ts";
import { type OwnPostgres, startOwnPostgres } from "./own-postgres.ts";

const database = "colophon";

/**
 * The functions over a PostgreSQL of its own, for the tests of a file. No migration has reached the database, and the
 * server has none of the roles, which would belong to all its databases.
 */
export function useOwnService() {
  let cluster: OwnPostgres;
  const service = {
    superuser: {} as Sql,
    /** The server as the owner of the database. */
    ownerUrl: "",
    dataApi: {} as DataApi,
    lambda: {} as Lambda,
    secrets: {} as Logins,
    /** Starts the functions over a Data API with these secrets, in the place of those before. */
    async useSecrets(
      secrets: Logins = newSecrets(service.ownerUrl, randomUUID()),
      place: { readonly url: string; readonly database: string } = { url: service.ownerUrl, database },
    ): Promise<void> {
      await close();
      service.secrets = secrets;
      service.dataApi = await startDataApi({ databaseUrl: place.url, secrets, key });
      useDatabase(place.database, service.dataApi.url);
      service.lambda = await startLambda({ outdir: inject("outdir"), settingsOf });
    },
    /** As which role the Data API logs in with a secret, or its error. */
    async whoIs(secretArn: string): Promise<string> {
      const sql = "select session_user";
      const command = new ExecuteStatementCommand({ resourceArn: clusterArn, secretArn, database, sql });
      const client = new RDSDataClient({ endpoint: service.dataApi.url, region: "eu-central-1", credentials: key });
      const result = client.send(command);
      return result.then(({ records }) => `${records?.[0]?.[0]?.stringValue}`).catch(() => errorOf(result));
    },
  };
  const close = async () => {
    await service.lambda.close?.();
    await service.dataApi.close?.();
  };
  beforeAll(async () => {
    cluster = await startOwnPostgres();
    service.superuser = openDatabase(`${cluster.url}/postgres`, { max: 1 });
    service.ownerUrl = await createOwnedDatabase(cluster.url, database);
    await service.useSecrets();
  });
  afterAll(async () => {
    await close();
    await service.superuser.end();
    await cluster.remove();
  });
  return service;
}
