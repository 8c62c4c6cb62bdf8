import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ExecuteStatementCommand, RDSDataClient } from "@aws-sdk/client-rds-data";
import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from "vitest";
import { type Invocation, type Lambda, startLambda } from "../../../infra/aws-local/lambda/lambda.ts";
import { createOwnedDatabase } from "../../../infra/aws-local/postgres/database-owner.ts";
import type { Postgres } from "../../../infra/aws-local/postgres/server.ts";
import type { Credentials, Logins } from "../../../infra/aws-local/secrets-manager/secrets-manager.ts";
import { type DataApi, startDataApi } from "../../../infra/aws-local/test/data-api.ts";
import { errorOf } from "../../../infra/aws-local/test/emulator.ts";
import { limitedRoles } from "../../../infra/build/database-role.ts";
import { defaultName as owner } from "../../../infra/local/database.ts";
import { settingsOf } from "../../../infra/local/stage/functions.ts";
import { newSecrets, secretArns } from "../../../infra/local/stage/secrets.ts";
import { identifier, openDatabase, type Sql } from "../../support/database.ts";
import { startEmptyPostgres } from "../../support/empty-cluster.ts";
import { key, useDatabase } from "../../support/environment.ts";

/* Roles are those of a whole server, so this one is nobody else's. */

let server: Postgres;
let ownerUrl: string;
let dataApi: DataApi;
let logins: Logins;
let lambda: Lambda;

beforeAll(async () => {
  server = await startEmptyPostgres();
  ownerUrl = await createOwnedDatabase(server.url, "colophon");
});

afterAll(() => server.stop());

/** A Data API with these secrets, and the functions over it. */
async function useSecrets(
  secrets = newSecrets(ownerUrl, randomUUID()),
  databaseUrl = ownerUrl,
  database = "colophon",
): Promise<void> {
  logins = secrets;
  dataApi = await startDataApi({ databaseUrl, secrets, key });
  useDatabase(database, dataApi.url);
  lambda = await startLambda({ outdir: inject("outdir"), settingsOf });
}

async function close(): Promise<void> {
  await lambda.close();
  await dataApi.close();
}

async function whoIs(secretArn: string): Promise<string> {
  const command = new ExecuteStatementCommand({
    resourceArn: "arn:aws:rds:eu-central-1:123456789012:cluster:colophon",
    secretArn,
    database: "colophon",
    sql: "select session_user",
  });
  const result = new RDSDataClient({ endpoint: dataApi.url, region: "eu-central-1", credentials: key }).send(command);
  return result.then(({ records }) => `${records?.[0]?.[0]?.stringValue}`).catch(() => errorOf(result));
}

/** A visitor's request. */
const publishersList = async () =>
  JSON.parse(await readFile(join(import.meta.dirname, "../../../events/publishers/list.json"), "utf8"));

const migrate = (payload: object = {}) => lambda.invoke("ops-migrate", payload);
const succeeded = { result: expect.anything() };

/** A connection to PostgreSQL itself. */
const connect = (login: object) =>
  openDatabase(Object.assign(new URL(ownerUrl), { pathname: "/colophon", ...login }).href, { max: 1 });

async function connectAsSuperuser<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> {
  const sql = openDatabase(`${server.url}/postgres`, { max: 1 });
  try {
    return await work(sql);
  } finally {
    await sql.end();
  }
}

describe("The passwords of the roles", () => {
  afterEach(close);

  /** Takes the place of a service with other secrets, or of another database. */
  async function useOther(...other: Parameters<typeof useSecrets>): Promise<void> {
    await close();
    await useSecrets(...other);
  }

  const errorMessage = (pattern: RegExp) => ({ error: { errorMessage: expect.stringMatching(pattern) } });

  it("are those of the secrets after the first ops-migrate, and in no statement", async () => {
    await useSecrets();
    expect(await whoIs(secretArns.public)).toMatch(/^InvalidSecretException 400: .*password authentication failed/);

    expect(await migrate()).toMatchObject(succeeded);

    for (const role of limitedRoles) expect(await whoIs(secretArns[role])).toBe(`colophon_${role}`);
    const sent = dataApi.calls.map(({ sql }) => sql).join("\n");
    expect(sent).toContain("alter role colophon_public login password 'SCRAM-SHA-256$4096:");
    for (const { password } of Object.values(logins)) expect(sent).not.toContain(password);
  });

  it("are left alone when another service's ops-migrate has others, and the error says what to do", async () => {
    const secrets = newSecrets(ownerUrl, randomUUID());
    await useSecrets(secrets);
    expect(await migrate({ setPasswords: true })).toMatchObject(succeeded);
    await connectAsSuperuser((sql) => sql`create database other owner ${identifier(owner)}`);
    const verifiers = () => connectAsSuperuser((sql) => sql`select rolname, rolpassword from pg_authid order by 1`);
    const before = await verifiers();

    await useOther(undefined, ownerUrl, "other");
    expect(await migrate()).toMatchObject(
      errorMessage(
        /^The role colophon_public has another password than its secret\..* ops-migrate with {"setPasswords": true}, .*--set-passwords$/,
      ),
    );
    await useOther(secrets, ownerUrl, "other");
    expect(await migrate()).toMatchObject(succeeded);

    expect(await verifiers()).toEqual(before);
  });

  it("are set again, with the settings, after a role has changed its own", async () => {
    await useSecrets();
    await migrate({ setPasswords: true });
    const asReader = () => connect({ username: "colophon_reader", password: logins[secretArns.reader]?.password });
    const thief = asReader();
    await thief`alter role colophon_reader set statement_timeout = 0`;
    await thief`alter role colophon_reader in database colophon set search_path = pg_catalog`;
    await thief`alter role colophon_reader password 'taken over'`;
    await thief.end();
    expect(await migrate()).toMatchObject(errorMessage(/colophon_reader/));

    expect(await migrate({ setPasswords: true })).toMatchObject(succeeded);

    const reader = asReader();
    expect(await reader`show statement_timeout`).toEqual([{ statement_timeout: "12s" }]);
    expect(await reader`show search_path`).toEqual([{ search_path: '"$user", public' }]);
    await reader.end();
  });

  it("open no other database of a server that is the service's own", async () => {
    await useSecrets();
    await connectAsSuperuser(async (sql) => {
      await sql`create database beside owner ${identifier(owner)}`;
      await sql`create database foreign_to_us`;
    });
    expect(await migrate({ setPasswords: true, closeOtherDatabases: true })).toMatchObject(succeeded);

    const entered: string[] = [];
    for (const role of limitedRoles)
      for (const database of ["colophon", "beside", "postgres", "template1", "foreign_to_us"]) {
        const { password } = logins[secretArns[role]] ?? {};
        const sql = connect({ username: `colophon_${role}`, password, pathname: `/${database}` });
        await sql`select 1`.then(() => entered.push(`${role} ${database}`)).catch(() => undefined);
        await sql.end();
      }

    // The owner can close neither what another owns, nor its own to itself.
    expect(entered).toEqual(limitedRoles.flatMap((role) => [`${role} colophon`, `${role} foreign_to_us`]));
  });

  it("are set for no role but these", async () => {
    const foreign = { [secretArns.public]: { username: "colophon", password: "taken over" } };
    await useSecrets({ ...newSecrets(ownerUrl), ...foreign });

    expect(await migrate()).toMatchObject(errorMessage(/^The service has no role colophon$/));
  });

  it("cannot be set by a user who may not create roles, and the error says so", async () => {
    await connectAsSuperuser(async (sql) => {
      await sql`create role plain login password 'plain'`;
      await sql`grant connect on database colophon to plain`;
    });
    const plainUrl = Object.assign(new URL(ownerUrl), { username: "plain", password: "plain" }).href;
    await useSecrets(newSecrets(plainUrl), plainUrl);

    expect(await migrate()).toMatchObject(
      errorMessage(/^The database's user may not make the roles colophon_public, /),
    );
  });
});

describe("ops-rotate-password", () => {
  const steps = ["createSecret", "setSecret", "testSecret", "finishSecret"] as const;
  const step = (Step: string, ClientRequestToken: string, SecretId = secretArns.public): Promise<Invocation> =>
    lambda.invoke("ops-rotate-password", { Step, SecretId, ClientRequestToken });
  const done = { result: {} };

  async function rotate(version: string = randomUUID()): Promise<void> {
    for (const each of steps) expect(await step(each, version)).toEqual(done);
  }

  const secretNow = async (): Promise<Credentials> => {
    const client = new SecretsManagerClient({ endpoint: dataApi.url, region: "eu-central-1", credentials: key });
    const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId: secretArns.public }));
    return JSON.parse(`${SecretString}`);
  };

  const logIn = (credentials: Credentials) => {
    const sql = connect(credentials);
    return sql`select 1`.then(() => "in", String).finally(() => sql.end());
  };

  beforeAll(async () => {
    await useSecrets();
    await migrate({ setPasswords: true });
  });

  afterAll(close);

  it("gives PostgreSQL and the secret a new password, while open connections go on", async () => {
    const former = await secretNow();
    const open = connect(former);
    await open`select 1`;

    await rotate();

    const next = await secretNow();
    expect(next).toEqual({ username: "colophon_public", password: expect.stringMatching(/^[\w-]{40}$/) });
    expect(await logIn(next)).toBe("in");
    expect(await logIn(former)).toMatch("password authentication failed");
    expect(await whoIs(secretArns.public)).toBe("colophon_public");
    expect(await open`select session_user`).toEqual([{ session_user: "colophon_public" }]);
    await open.end();
  });

  it("fails no request, however often it runs", async () => {
    const event = await publishersList();
    let isOver = false;
    const visits = [1, 2].map(async () => {
      let visited = 0;
      for (; !isOver; visited++)
        expect(await lambda.invoke("publishers-list", event)).toMatchObject({ result: { statusCode: 200 } });
      return visited;
    });
    try {
      for (let rotation = 1; rotation <= 6; rotation++) await rotate();
    } finally {
      isOver = true;
    }

    expect((await Promise.all(visits)).reduce((sum, each) => sum + each)).toBeGreaterThan(6);
  });

  it.each(steps)("leaves functions running when it ends after %s, and succeeds the next time", async (last) => {
    const version = randomUUID();
    for (const each of steps.slice(0, steps.indexOf(last) + 1)) expect(await step(each, version)).toEqual(done);

    expect(await whoIs(secretArns.public)).toBe("colophon_public");
    expect(await migrate()).toMatchObject(succeeded);
    await rotate();
    expect(await whoIs(secretArns.public)).toBe("colophon_public");
  });

  it.each([
    ["ExecuteStatement", "error", "alter role"],
    ["ExecuteStatement", "error-after", "alter role"],
    ["CommitTransaction", "error-after", undefined],
  ] as const)("leaves functions running when %s fails by %s, and can be repeated", async (operation, kind, text) => {
    const version = randomUUID();
    await step("createSecret", version);
    const refused = { kind, status: 403, type: "AccessDeniedException" } as const;
    dataApi.intercept((call) =>
      call.operation === operation && (text === undefined || call.sql?.includes(text)) ? refused : undefined,
    );

    expect(await step("finishSecret", version)).toMatchObject({ error: { errorType: "AccessDeniedException" } });

    dataApi.intercept(undefined);
    expect(await whoIs(secretArns.public)).toBe("colophon_public");
    await rotate(version);
    expect(await whoIs(secretArns.public)).toBe("colophon_public");
  });

  it.each(["drop-before", "drop-after"] as const)("does a commit again that is lost (%s)", async (kind) => {
    const version = randomUUID();
    await step("createSecret", version);
    let lost = 0;
    dataApi.intercept(({ operation }) => (operation === "CommitTransaction" && lost++ === 0 ? { kind } : undefined));

    expect(await step("finishSecret", version)).toEqual(done);

    dataApi.intercept(undefined);
    expect(lost).toBe(2);
    expect(await logIn(await secretNow())).toBe("in");
  });

  it("may repeat every step, also after the last one", async () => {
    const version = randomUUID();
    await rotate(version);
    const after = await secretNow();
    await rotate(version);

    expect(await secretNow()).toEqual(after);
    expect(await logIn(after)).toBe("in");
  });

  it("fails for any other role's secret", async () => {
    expect(await step("createSecret", randomUUID(), secretArns.master)).toMatchObject({
      error: { errorMessage: "The service has no role colophon" },
    });
  });
});
