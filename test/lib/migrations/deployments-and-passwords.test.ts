import { randomUUID } from "node:crypto";
import { createServer, request as sendRequest } from "node:http";
import { json } from "node:stream/consumers";
import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, onTestFinished } from "vitest";
import publishersList from "../../../events/publishers/list.json" with { type: "json" };
import { listenToClients } from "../../../infra/aws-local/http/listen.ts";
import { startLambda } from "../../../infra/aws-local/lambda/lambda.ts";
import type { Fault } from "../../../infra/aws-local/test/data-api.ts";
import { limitedRoles } from "../../../infra/build/database-role.ts";
import { defaultName as owner } from "../../../infra/local/database.ts";
import { settingsOf } from "../../../infra/local/stage/functions.ts";
import { newSecrets, secretArns } from "../../../infra/local/stage/secrets.ts";
import { identifier, openDatabase, type Sql } from "../../support/database.ts";
import { useOwnService } from "../../support/own-service.ts";

/* What needs a cluster of its own: that its stack is deployed, and the passwords of its roles. */

const service = useOwnService();
const { useSecrets, whoIs } = service;
let sql: Sql;

const migrate = (payload: object = {}) => service.lambda.invoke("ops-migrate", payload);
const succeeded = { result: expect.anything() };

/** A connection to PostgreSQL itself, by default as the owner. */
const connect = (login: object = {}) =>
  openDatabase(Object.assign(new URL(service.ownerUrl), { pathname: "/colophon", ...login }).href, { max: 1 });

beforeAll(() => {
  sql = connect();
});

afterAll(() => sql.end());

describe("ops-migrate-on-deploy", () => {
  let cloudFormation: Awaited<ReturnType<typeof listenToClients>>;
  /** What CloudFormation was sent. */
  let results: object[] = [];
  let status = 200;

  beforeAll(async () => {
    const server = createServer(async (request, response) => {
      const { method, headers } = request;
      results.push({ method, type: headers["content-type"], body: await json(request) });
      response.writeHead(status).end();
    });
    cloudFormation = await listenToClients(server);
  });

  afterAll(() => cloudFormation.close());

  beforeEach(() => {
    results = [];
  });

  const names = { StackId: "arn:stack", RequestId: "request", LogicalResourceId: "MigrationRun" };
  const requestOf = (RequestType: string, fields: object = {}) => ({
    ...names,
    RequestType,
    ResponseURL: `${cloudFormation.url}/result?signature=x`,
    ...fields,
  });

  async function ask(type: "Create" | "Update" | "Delete", ResourceProperties?: object): Promise<string | undefined> {
    const event = requestOf(type, { ResourceProperties });
    const invocation = await service.lambda.invoke("ops-migrate-on-deploy", event);
    return "error" in invocation ? invocation.error.errorMessage : undefined;
  }

  // The URL's signature leaves the type out.
  const result = (fields: object) => [
    { method: "PUT", type: "", body: { ...names, PhysicalResourceId: "migrations", ...fields } },
  ];
  const done = result({ Status: "SUCCESS" });
  const failed = (Reason: unknown) => result({ Status: "FAILED", Reason });
  const permission = () => sql`select from permissions where key = 'view-users'`;

  it("refuses an empty database when it updates a stack, and changes nothing in it", async () => {
    const error = await ask("Update");

    expect(error).toMatch(/^The database is empty, .*`snapshot`.*`mayBeEmpty`/);
    expect(results).toEqual(failed(error));
    expect(await sql`select from pg_roles where rolname like 'colophon_%'`).toEqual([]);
    expect(await sql`select from pg_class where relnamespace = 'public'::regnamespace`).toEqual([]);
  });

  it.each([
    { what: "that is new", type: "Create", properties: undefined },
    { what: "when the settings of its stack say so", type: "Update", properties: { MayBeEmpty: "true" } },
  ] as const)("fills an empty database $what", async ({ type, properties }) => {
    await sql.query("drop schema public cascade; create schema public authorization pg_database_owner");

    expect(await ask(type, properties)).toBeUndefined();
    expect(results).toEqual(done);
    expect(await permission()).toHaveLength(1);
    for (const role of limitedRoles) expect(await whoIs(secretArns[role])).toBe(`colophon_${role}`);
  });

  it("brings a cluster up to date that was restored with other passwords", async () => {
    await sql`delete from permissions where key = 'view-users'`;
    await useSecrets();

    expect(await ask("Update")).toBeUndefined();
    expect(results).toEqual(done);
    expect(await permission()).toHaveLength(1);
    expect(await whoIs(secretArns.public)).toBe("colophon_public");
  });

  it("leaves the database alone when its stack is taken down", async () => {
    await sql`delete from permissions where key = 'view-users'`;

    expect(await ask("Delete")).toBeUndefined();
    expect(results).toEqual(done);
    expect(await permission()).toHaveLength(0);
  });

  it("fails with the file's name when a migration fails, and the failure is Lambda's as well", async () => {
    const [first] = await sql`select name, checksum from migrations order by name limit 1`;
    await sql`update migrations set checksum = 'other' where name = ${first?.name}`;

    const error = await ask("Update");

    const reason = `Migration ${first?.name} failed: the file was changed after it had been applied\\. `;
    const wayOut =
      /With `npm start` the data are of another commit: name another folder by --data DIR, or delete `.local`$/;
    expect(error).toMatch(new RegExp(`^${reason}${wayOut.source}`));
    expect(results).toEqual(failed(error ?? ""));
    await sql`update migrations set checksum = ${first?.checksum} where name = ${first?.name}`;
  });

  it("fails when CloudFormation does not take the response", async () => {
    status = 403;

    expect(await ask("Update")).toMatch(/403/);
  });
});

describe("The passwords of the roles", () => {
  const errorMessage = (pattern: RegExp) => ({ error: { errorMessage: expect.stringMatching(pattern) } });

  it("are those of the secrets, and in no statement", async () => {
    await useSecrets();
    expect(await whoIs(secretArns.public)).toMatch(/^InvalidSecretException 400: .*password authentication failed/);

    expect(await migrate({ setPasswords: true })).toMatchObject(succeeded);

    for (const role of limitedRoles) expect(await whoIs(secretArns[role])).toBe(`colophon_${role}`);
    const sent = service.dataApi.calls.map(({ sql }) => sql).join("\n");
    expect(sent).toContain("alter role colophon_public login password 'SCRAM-SHA-256$4096:");
    for (const { password } of Object.values(service.secrets)) expect(sent).not.toContain(password);
  });

  it("are left alone when another service's ops-migrate has others, and the error says what to do", async () => {
    const { secrets, ownerUrl: url } = service;
    await service.superuser`create database other owner ${identifier(owner)}`;
    const verifiers = () => service.superuser`select rolname, rolpassword from pg_authid order by 1`;
    const before = await verifiers();

    await useSecrets(undefined, { url, database: "other" });
    expect(await migrate()).toMatchObject(
      errorMessage(
        /^The role colophon_public has another password than its secret\..* ops-migrate with {"setPasswords": true}, .*--set-passwords$/,
      ),
    );
    await useSecrets(secrets, { url, database: "other" });
    expect(await migrate()).toMatchObject(succeeded);

    expect(await verifiers()).toEqual(before);
  });

  it("are set again, with the settings, after a role has changed its own", async () => {
    await useSecrets();
    await migrate({ setPasswords: true });
    const asReader = () =>
      connect({ username: "colophon_reader", password: service.secrets[secretArns.reader]?.password });
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
    await service.superuser`create database beside owner ${identifier(owner)}`;
    await service.superuser`create database foreign_to_us`;
    expect(await migrate({ setPasswords: true, closeOtherDatabases: true })).toMatchObject(succeeded);

    const entered: string[] = [];
    for (const role of limitedRoles)
      for (const database of ["colophon", "beside", "postgres", "template1", "foreign_to_us"]) {
        const { password } = service.secrets[secretArns[role]] ?? {};
        const sql = connect({ username: `colophon_${role}`, password, pathname: `/${database}` });
        await sql`select 1`.then(() => entered.push(`${role} ${database}`)).catch(() => undefined);
        await sql.end();
      }

    // The owner can close neither what another owns, nor its own to itself.
    expect(entered).toEqual(limitedRoles.flatMap((role) => [`${role} colophon`, `${role} foreign_to_us`]));
  });

  it("are set for no role but these", async () => {
    const foreign = { [secretArns.public]: { username: "colophon", password: "taken over" } };
    await useSecrets({ ...newSecrets(service.ownerUrl), ...foreign });

    expect(await migrate()).toMatchObject(errorMessage(/^The service has no role colophon$/));
  });

  it("cannot be set by a user who may not create roles, and the error says so", async () => {
    await service.superuser`create role plain login password 'plain'`;
    await service.superuser`grant connect on database colophon to plain`;
    const url = Object.assign(new URL(service.ownerUrl), { username: "plain", password: "plain" }).href;
    await useSecrets(newSecrets(url), { url, database: "colophon" });

    expect(await migrate()).toMatchObject(
      errorMessage(/^The database's user may not make the roles colophon_public, /),
    );
  });
});

describe("ops-rotate-password", () => {
  const steps = ["createSecret", "setSecret", "testSecret", "finishSecret"] as const;
  const step = (Step: string, ClientRequestToken: string, SecretId = secretArns.public) =>
    service.lambda.invoke("ops-rotate-password", { Step, SecretId, ClientRequestToken });
  const done = { result: {} };

  async function rotate(version: string = randomUUID()): Promise<void> {
    for (const each of steps) expect(await step(each, version)).toEqual(done);
  }

  const secretNow = async () => {
    const secret = new GetSecretValueCommand({ SecretId: secretArns.public });
    const { SecretString } = await new SecretsManagerClient().send(secret);
    return JSON.parse(`${SecretString}`);
  };

  /** Breaks the first call of an operation, of a statement the one with this text. Returns how many calls there were. */
  function breakCall(operation: string, text: string, fault: Fault): () => number {
    let count = 0;
    service.dataApi.intercept((call) =>
      call.operation === operation && (call.sql ?? "").includes(text) && count++ === 0 ? fault : undefined,
    );
    return () => {
      service.dataApi.intercept(undefined);
      return count;
    };
  }

  const expectToRun = async () => expect(await whoIs(secretArns.public)).toBe("colophon_public");

  beforeAll(async () => {
    await useSecrets();
    await migrate({ setPasswords: true });
  });

  it("gives PostgreSQL and the secret a new password, once, while open connections go on", async () => {
    const former = await secretNow();
    const open = connect(former);
    await open`select 1`;

    const version = randomUUID();
    await rotate(version);

    const latest = await secretNow();
    expect(latest).toEqual({ username: "colophon_public", password: expect.stringMatching(/^[\w-]{40}$/) });
    await rotate(version);
    expect(await secretNow()).toEqual(latest);
    await expectToRun();
    const late = connect(former);
    await expect(late`select 1`).rejects.toThrow("password authentication failed");
    expect(await open`select session_user`).toEqual([{ session_user: "colophon_public" }]);
    await Promise.all([open.end(), late.end()]);
  });

  it("fails no request, however often it runs", async () => {
    let isOver = false;
    let visited = 0;
    const visits = [1, 2].map(async () => {
      for (; !isOver; visited++)
        expect(await service.lambda.invoke("publishers-list", publishersList)).toMatchObject({
          result: { statusCode: 200 },
        });
    });
    try {
      for (let rotation = 1; rotation <= 6; rotation++) {
        const before = visited;
        await rotate();
        await expect.poll(() => visited).toBeGreaterThan(before);
      }
    } finally {
      isOver = true;
    }
    await Promise.all(visits);
  });

  it.each(steps)("leaves functions running when it ends after %s, and succeeds the next time", async (last) => {
    const version = randomUUID();
    for (const each of steps.slice(0, steps.indexOf(last) + 1)) expect(await step(each, version)).toEqual(done);

    await expectToRun();
    expect(await migrate()).toMatchObject(succeeded);
    await rotate();
    await expectToRun();
  });

  const denied = { status: 403, type: "AccessDeniedException" };
  const failed = { error: { errorType: denied.type } };
  const setting = { operation: "ExecuteStatement", text: "alter role" };
  const commit = { operation: "CommitTransaction", text: "" };
  it.each<{ what: string; operation: string; text: string; fault: Fault; outcome: object; calls: number }>([
    {
      what: "setting the password is denied",
      ...setting,
      fault: { kind: "error", ...denied },
      outcome: failed,
      calls: 1,
    },
    {
      what: "the password is set, and that is denied",
      ...setting,
      fault: { kind: "error-after", ...denied },
      outcome: failed,
      calls: 1,
    },
    {
      what: "the commit is made, and that is denied",
      ...commit,
      fault: { kind: "error-after", ...denied },
      outcome: failed,
      calls: 1,
    },
    { what: "the commit gets lost", ...commit, fault: { kind: "drop-before" }, outcome: done, calls: 2 },
    { what: "the response to the commit gets lost", ...commit, fault: { kind: "drop-after" }, outcome: done, calls: 2 },
  ])("leaves functions running when $what, and can be repeated", async ({ operation, text, fault, outcome, calls }) => {
    const version = randomUUID();
    await step("createSecret", version);
    const mend = breakCall(operation, text, fault);

    expect(await step("finishSecret", version)).toMatchObject(outcome);

    expect(mend()).toBe(calls);
    await expectToRun();
    await rotate(version);
    await expectToRun();
  });

  it("is done when the response is lost by which Secrets Manager makes the password current", async () => {
    let calls = 0;
    const proxy = createServer((request, response) => {
      const { method = "", url = "", headers } = request;
      const isLost = `${headers["x-amz-target"]}`.endsWith(".UpdateSecretVersionStage") && calls++ === 0;
      const forwarded = sendRequest(service.dataApi.url + url, { method, headers }, (reply) => {
        if (isLost) return void response.destroy();
        response.writeHead(reply.statusCode ?? 0, reply.headers);
        reply.pipe(response);
      });
      request.pipe(forwarded);
    });
    const { url, close } = await listenToClients(proxy);
    const variables = { ...process.env, AWS_ENDPOINT_URL_SECRETS_MANAGER: url };
    const lambda = await startLambda({ outdir: inject("outdir"), settingsOf, variables });
    onTestFinished(async () => {
      await lambda.close();
      await close();
    });
    const version = randomUUID();
    await step("createSecret", version);

    const event = { Step: "finishSecret", SecretId: secretArns.public, ClientRequestToken: version };
    expect(await lambda.invoke("ops-rotate-password", event)).toEqual(done);

    expect(calls).toBe(1);
    await expectToRun();
  });

  it("fails for any other role's secret", async () => {
    expect(await step("createSecret", randomUUID(), secretArns.master)).toMatchObject({
      error: { errorMessage: "The service has no role colophon" },
    });
  });
});
