import { randomUUID } from "node:crypto";
import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { beforeAll, describe, expect, it } from "vitest";
import publishersList from "../../../events/publishers/list.json" with { type: "json" };
import type { Fault } from "../../../infra/aws-local/test/data-api.ts";
import { limitedRoles } from "../../../infra/build/database-role.ts";
import { defaultName as owner } from "../../../infra/local/database.ts";
import { newSecrets, secretArns } from "../../../infra/local/stage/secrets.ts";
import { identifier, openDatabase } from "../../support/database.ts";
import { key } from "../../support/environment.ts";
import { useOwnService } from "../../support/own-service.ts";

const service = useOwnService();
const { useSecrets, whoIs } = service;

const migrate = (payload: object = {}) => service.lambda.invoke("ops-migrate", payload);
const succeeded = { result: expect.anything() };

/** A connection to PostgreSQL itself. */
const connect = (login: object) =>
  openDatabase(Object.assign(new URL(service.ownerUrl), { pathname: "/colophon", ...login }).href, { max: 1 });

describe("The passwords of the roles", () => {
  const errorMessage = (pattern: RegExp) => ({ error: { errorMessage: expect.stringMatching(pattern) } });

  it("are those of the secrets after the first ops-migrate, and in no statement", async () => {
    expect(await whoIs(secretArns.public)).toMatch(/^InvalidSecretException 400: .*password authentication failed/);

    expect(await migrate()).toMatchObject(succeeded);

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
    const client = new SecretsManagerClient({
      endpoint: service.dataApi.url,
      region: "eu-central-1",
      credentials: key,
    });
    const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId: secretArns.public }));
    return JSON.parse(`${SecretString}`);
  };

  /** Breaks the calls of an operation, for statements those with this text. Returns how many there were. */
  function breakCalls(operation: string, fault: Fault, text = "", max = Number.POSITIVE_INFINITY): () => number {
    let count = 0;
    service.dataApi.intercept((call) =>
      call.operation === operation && (call.sql ?? "").includes(text) && count++ < max ? fault : undefined,
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

  it("gives PostgreSQL and the secret a new password, while open connections go on", async () => {
    const former = await secretNow();
    const open = connect(former);
    await open`select 1`;

    await rotate();

    expect(await secretNow()).toEqual({
      username: "colophon_public",
      password: expect.stringMatching(/^[\w-]{40}$/),
    });
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

  it.each([
    ["ExecuteStatement", "error", "alter role"],
    ["ExecuteStatement", "error-after", "alter role"],
    ["CommitTransaction", "error-after", ""],
  ] as const)("leaves functions running when %s fails by %s, and can be repeated", async (operation, kind, text) => {
    const version = randomUUID();
    await step("createSecret", version);
    const mend = breakCalls(operation, { kind, status: 403, type: "AccessDeniedException" }, text);

    expect(await step("finishSecret", version)).toMatchObject({ error: { errorType: "AccessDeniedException" } });

    mend();
    await expectToRun();
    await rotate(version);
    await expectToRun();
  });

  it.each(["drop-before", "drop-after"] as const)("does a commit again that is lost (%s)", async (kind) => {
    const version = randomUUID();
    await step("createSecret", version);
    const mend = breakCalls("CommitTransaction", { kind }, "", 1);

    expect(await step("finishSecret", version)).toEqual(done);

    expect(mend()).toBe(2);
    await expectToRun();
  });

  it("may repeat every step, also after the last one", async () => {
    const version = randomUUID();
    await rotate(version);
    const after = await secretNow();
    await rotate(version);

    expect(await secretNow()).toEqual(after);
    await expectToRun();
  });

  it("fails for any other role's secret", async () => {
    expect(await step("createSecret", randomUUID(), secretArns.master)).toMatchObject({
      error: { errorMessage: "The service has no role colophon" },
    });
  });
});
