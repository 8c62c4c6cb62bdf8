import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ExecuteStatementCommand } from "@aws-sdk/client-rds-data";
import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { newSecrets, type Secrets, secretArns } from "../../../infra/local/data-api/secrets.ts";
import { type DataApi, startDataApi } from "../../../infra/local/data-api/server.ts";
import { type Invocation, type Lambda, startLambda } from "../../../infra/local/lambda/lambda.ts";
import { createOwnedDatabase } from "../../../infra/local/postgres/owner.ts";
import type { Postgres } from "../../../infra/local/postgres/server.ts";
import { clientOf, errorOf, resourceArn } from "../../infra/local/data-api/emulator.ts";
import { startEmptyPostgres } from "../../support/empty-cluster.ts";
import { key, useDatabase } from "../../support/environment.ts";

/* Roles are those of a whole server, so this one is nobody else's. */

let directory: string;
let server: Postgres;
let ownerUrl: string;
let dataApi: DataApi;
let lambda: Lambda;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "colophon-passwords-"));
  server = await startEmptyPostgres({ directory: join(directory, "postgres"), durable: false });
  ownerUrl = await createOwnedDatabase(server.url, "colophon");
});

afterAll(async () => {
  await server.stop();
  await rm(directory, { recursive: true });
});

/** A Data API with these secrets, and the functions over it. */
async function useSecrets(
  secrets: Secrets = newSecrets(ownerUrl, randomUUID()),
  databaseUrl = ownerUrl,
): Promise<void> {
  dataApi = await startDataApi({ databaseUrl, secrets, key });
  useDatabase("colophon", dataApi.url);
  lambda = await startLambda({ outdir: inject("outdir") });
}

async function close(): Promise<void> {
  await lambda.close();
  await dataApi.close();
}

async function whoIs(secretArn: string): Promise<string> {
  const command = new ExecuteStatementCommand({
    resourceArn,
    secretArn,
    database: "colophon",
    sql: "select session_user",
  });
  const answer = clientOf(dataApi.url).send(command);
  return answer.then(({ records }) => `${records?.[0]?.[0]?.stringValue}`).catch(() => errorOf(answer));
}

const migrate = () => lambda.invoke("ops-migrate", {});
const succeeded = { result: expect.anything() };

describe("The passwords of the roles", () => {
  it("are those of the secrets after ops-migrate, also when others were set by hand", async () => {
    for (let round = 0; round < 2; round++) {
      await useSecrets();
      expect(await whoIs(secretArns.public)).toMatch(/^InvalidSecretException 400: .*password authentication failed/);

      expect(await migrate()).toMatchObject(succeeded);

      expect(await whoIs(secretArns.public)).toBe("colophon_public");
      expect(await whoIs(secretArns.admin)).toBe("colophon_admin");
      await close();
    }
  });

  it("may change during a request, which then waits for a moment", async () => {
    await useSecrets();
    const event = JSON.parse(await readFile(join(import.meta.dirname, "../../../events/publishers/list.json"), "utf8"));

    const visit = lambda.invoke("publishers-list", event);
    await vi.waitUntil(() => dataApi.calls.length > 0, { timeout: 20_000 });
    expect(await migrate()).toMatchObject(succeeded);

    expect(await visit).toMatchObject({ result: { statusCode: 200 } });
    await close();
  });

  it("are in no statement", async () => {
    await useSecrets();

    expect(await migrate()).toMatchObject(succeeded);

    const sent = dataApi.calls.map(({ sql }) => sql).join("\n");
    expect(sent).toContain("alter role colophon_public login password 'SCRAM-SHA-256$4096:");
    for (const { password } of Object.values(dataApi.secrets)) expect(sent).not.toContain(password);
    await close();
  });

  it("are set for no role but these", async () => {
    const secrets = newSecrets(ownerUrl);
    await useSecrets({ ...secrets, [secretArns.public]: { username: "colophon", password: "taken over" } });

    expect(await migrate()).toMatchObject({ error: { errorMessage: "The service has no role colophon" } });
    await close();
  });

  it("cannot be set by a user who may not create roles, and the error says so", async () => {
    const admin = postgres(`${server.url}/postgres`, { max: 1 });
    await admin`create role plain login password 'plain'`;
    await admin.end();
    const plainUrl = Object.assign(new URL(ownerUrl), { username: "plain", password: "plain" }).href;
    await useSecrets(newSecrets(plainUrl), plainUrl);

    expect(await migrate()).toMatchObject({
      error: { errorMessage: expect.stringMatching(/^The database's user may not make the roles colophon_public and/) },
    });
    await close();
  });
});

describe("ops-rotate-password", () => {
  const step = (Step: string, ClientRequestToken: string, SecretId = secretArns.public): Promise<Invocation> =>
    lambda.invoke("ops-rotate-password", { Step, SecretId, ClientRequestToken });

  const passwordNow = async (): Promise<string> => {
    const client = new SecretsManagerClient({ endpoint: dataApi.url, region: "eu-central-1", credentials: key });
    const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId: secretArns.public }));
    return JSON.parse(`${SecretString}`).password;
  };

  const logIn = (password: string) => {
    const url = Object.assign(new URL(server.url), { username: "colophon_public", password, pathname: "/colophon" });
    const sql = postgres(url.href, { max: 1 });
    return sql`select 1`.then(() => "in", String).finally(() => sql.end());
  };

  beforeAll(async () => {
    await useSecrets();
    await migrate();
  });

  afterAll(close);

  it("changes nothing before the last step", async () => {
    const former = await passwordNow();
    const version = randomUUID();

    for (const each of ["createSecret", "setSecret", "testSecret"])
      expect(await step(each, version)).toEqual({ result: {} });

    expect(await passwordNow()).toBe(former);
    expect(await logIn(former)).toBe("in");
  });

  it("gives a role another password, by which the Data API logs in from then on", async () => {
    const former = await passwordNow();
    const version = randomUUID();

    for (const each of ["createSecret", "setSecret", "testSecret", "finishSecret"])
      expect(await step(each, version)).toEqual({ result: {} });

    expect(await logIn(former)).toMatch("password authentication failed");
    expect(await logIn(await passwordNow())).toBe("in");
    expect(await whoIs(secretArns.public)).toBe("colophon_public");
    expect(await whoIs(secretArns.admin)).toBe("colophon_admin");
  });

  it("may repeat every step", async () => {
    const version = randomUUID();

    for (const each of ["createSecret", "createSecret", "finishSecret", "finishSecret"])
      expect(await step(each, version)).toEqual({ result: {} });

    expect(await logIn(await passwordNow())).toBe("in");
  });

  it("fails for any other role's secret", async () => {
    const version = randomUUID();
    expect(await step("createSecret", version, secretArns.master)).toEqual({ result: {} });

    expect(await step("finishSecret", version, secretArns.master)).toMatchObject({
      error: { errorMessage: "The service has no role colophon" },
    });
    expect(await migrate()).toMatchObject(succeeded);
  });
});
