import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import type { Context } from "aws-lambda";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { handler as Handler } from "../../../functions/ops/migrate-on-deploy.ts";
import { listenToClients } from "../../../infra/aws-local/http/listen.ts";
import { secretArns } from "../../../infra/local/stage/secrets.ts";
import type { Migration } from "../../../lib/migrations/tables/all.ts";
import { openDatabase, type Sql } from "../../support/database.ts";
import { useOwnService } from "../../support/own-service.ts";

/* The bundle that CloudFormation asks, over a cluster of its own; CloudFormation's end is a server of the test. */

const service = useOwnService();
let sql: Sql;
let cloudFormation: Awaited<ReturnType<typeof listenToClients>>;
/** What CloudFormation was sent. */
let results: object[] = [];
/** What the function handed to Lambda. */
let invocations: object[] = [];
let status = 200;

beforeAll(async () => {
  sql = openDatabase(`${service.ownerUrl}/colophon`, { max: 1 });
  const server = createServer(async (request, response) => {
    const { method, headers, url = "" } = request;
    if (url.endsWith("/invocations")) {
      invocations.push({ url, type: headers["x-amz-invocation-type"], body: await json(request) });
      return response.writeHead(202).end();
    }
    results.push({ method, type: headers["content-type"], body: await json(request) });
    response.writeHead(status).end();
  });
  cloudFormation = await listenToClients(server);
});

afterAll(async () => {
  await cloudFormation.close();
  await sql.end();
});

const names = { StackId: "arn:stack", RequestId: "request", LogicalResourceId: "MigrationRun" };

async function ask(
  RequestType: "Create" | "Update" | "Delete",
  ResourceProperties?: { MayBeEmpty: "true" },
): Promise<string | undefined> {
  results = [];
  const ResponseURL = `${cloudFormation.url}/result?signature=x`;
  const event = { ...names, RequestType, ResourceProperties, ResponseURL };
  const invocation = await service.lambda.invoke("ops-migrate-on-deploy", event);
  return "error" in invocation ? invocation.error.errorMessage : undefined;
}

// The URL's signature leaves the type out.
const result = (fields: object) => [
  { method: "PUT", type: "", body: { ...names, PhysicalResourceId: "migrations", ...fields } },
];
const succeeded = result({ Status: "SUCCESS" });
const failed = (Reason: unknown) => result({ Status: "FAILED", Reason });

describe("A deployment", () => {
  it("that updates a stack refuses an empty database, and changes nothing in it", async () => {
    const error = await ask("Update");

    expect(error).toMatch(/^The database is empty, .*`snapshot`.*`mayBeEmpty`/);
    expect(results).toEqual(failed(error));
    expect(await sql`select from pg_roles where rolname like 'colophon_%'`).toEqual([]);
    expect(await sql`select from pg_class where relnamespace = 'public'::regnamespace`).toEqual([]);
  });

  it.each([
    ["that updates a stack fills an empty database where the settings say so", "Update", { MayBeEmpty: "true" }],
    ["brings a new database up to date", "Create", undefined],
  ] as const)("%s", async (_, type, properties) => {
    await sql.query("drop schema public cascade; create schema public authorization pg_database_owner");

    expect(await ask(type, properties)).toBeUndefined();
    expect(results).toEqual(succeeded);
    expect(await sql`select 1 from permissions where key = 'view-users'`).toHaveLength(1);
  });

  it("brings an existing database up to date", async () => {
    const [last] = await sql`select name from migrations order by name desc limit 1`;
    await sql`delete from permissions where key = 'view-users'`;

    expect(await ask("Update")).toBeUndefined();
    expect(results).toEqual(succeeded);
    expect(await sql`select name from migrations order by name desc limit 1`).toEqual([last]);
    expect(await sql`select 1 from permissions where key = 'view-users'`).toHaveLength(1);
  });

  it("lets functions log in to a cluster that was restored with other passwords", async () => {
    await service.useSecrets();

    expect(await ask("Update")).toBeUndefined();
    expect(await service.whoIs(secretArns.public)).toBe("colophon_public");
  });

  describe("with a slow migration", () => {
    let slowHandler: typeof Handler;
    const request = (Invocation: number) => ({
      ...names,
      RequestType: "Update",
      ResponseURL: `${cloudFormation.url}/result`,
      Invocation,
    });
    /** There is no time to begin the migration. */
    const late = { getRemainingTimeInMillis: () => 60_000 } as Context;

    beforeAll(async () => {
      const [release] = await sql`select schema from releases`;
      vi.stubEnv("RELEASE_SCHEMA", release?.schema);
      vi.stubEnv("AWS_LAMBDA_FUNCTION_NAME", "colophon-dev-ops-migrate-on-deploy");
      vi.stubEnv("AWS_ENDPOINT_URL_LAMBDA", cloudFormation.url);
      vi.resetModules();
      const { migrations } = await import("../../../lib/migrations/tables/all.ts");
      const statement = "create index concurrently if not exists clients_slow on clients (id)";
      const slow = { name: "9999-slow", path: "9999-slow.sql", text: `-- slow: 1 hour\n${statement};\n` };
      (migrations as Migration[]).push(slow);
      ({ handler: slowHandler } = await import("../../../functions/ops/migrate-on-deploy.ts"));
    });

    beforeEach(() => {
      results = [];
      invocations = [];
    });

    afterAll(() => {
      vi.unstubAllEnvs();
      // Other files share loaded modules.
      vi.resetModules();
    });

    it("hands the request on to another invocation when its time is over, and returns nothing yet", async () => {
      await slowHandler(request(1), late);

      expect(results).toEqual([]);
      const url = "/2015-03-31/functions/colophon-dev-ops-migrate-on-deploy/invocations";
      expect(invocations).toEqual([{ url, type: "Event", body: request(2) }]);
    });

    it("fails after an hour, and says that the next one goes on watching", async () => {
      await expect(slowHandler(request(4), late)).rejects.toThrow(/the deployment again/);

      expect(invocations).toEqual([]);
      expect(results).toEqual(failed(expect.stringMatching(/^Migration 9999-slow has yet to run; run ops-migrate or/)));
    });

    it("succeeds when it is done, whichever invocation sees that", async () => {
      await slowHandler(request(3));

      expect(results).toEqual(succeeded);
      expect(await sql`select indisvalid from pg_index where indexrelid = 'clients_slow'::regclass`).toEqual([
        { indisvalid: true },
      ]);
    });
  });

  it("that is taken down leaves the database alone", async () => {
    await sql`delete from permissions where key = 'view-users'`;

    expect(await ask("Delete")).toBeUndefined();
    expect(results).toEqual(succeeded);
    expect(await sql`select 1 from permissions where key = 'view-users'`).toHaveLength(0);
  });

  it("fails with the file's name when a migration fails, and the failure is Lambda's as well", async () => {
    const [first] = await sql`select name, checksum from migrations order by name limit 1`;
    await sql`update migrations set checksum = 'other' where name = ${first?.name}`;

    const error = await ask("Update");

    const reason = `Migration ${first?.name} failed: the file was changed after it had been applied`;
    expect(error).toBe(reason);
    expect(results).toEqual(failed(reason));
    await sql`update migrations set checksum = ${first?.checksum} where name = ${first?.name}`;
  });

  it("fails when CloudFormation does not take the response", async () => {
    status = 403;

    expect(await ask("Update")).toMatch(/403/);
    status = 200;
  });
});
