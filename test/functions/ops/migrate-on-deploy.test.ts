import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { json, text } from "node:stream/consumers";
import type { Context } from "aws-lambda";
import { build as bundle, type Plugin } from "esbuild";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { handler as Handler } from "../../../functions/ops/migrate-on-deploy.ts";
import { listenToClients } from "../../../infra/aws-local/http/listen.ts";
import { bundling } from "../../../infra/build/build.ts";
import { secretArns } from "../../../infra/local/stage/secrets.ts";
import { openDatabase, type Sql } from "../../support/database.ts";
import { useOwnService } from "../../support/own-service.ts";

/* The bundle that CloudFormation asks, over a cluster of its own; CloudFormation's end is a server of the test. */

interface Result {
  readonly method: string | undefined;
  readonly type: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

const service = useOwnService();
let sql: Sql;
let cloudFormation: Awaited<ReturnType<typeof listenToClients>>;
let results: Result[] = [];
/** What the function handed to Lambda. */
let invocations: string[] = [];
let status = 200;

beforeAll(async () => {
  sql = openDatabase(`${service.ownerUrl}/colophon`, { max: 1 });
  const server = createServer(async (request, response) => {
    const { method, headers, url = "" } = request;
    if (url.endsWith("/invocations")) {
      invocations.push(`${url} ${headers["x-amz-invocation-type"]} ${await text(request)}`);
      return response.writeHead(202).end();
    }
    results.push({ method, type: headers["content-type"], body: (await json(request)) as Result["body"] });
    response.writeHead(status).end();
  });
  cloudFormation = await listenToClients(server);
});

afterAll(async () => {
  await cloudFormation.close();
  await sql.end();
});

/** Adds a slow migration to those of the project. */
const withMigration = (name: string, statement: string): Plugin => ({
  name: "slow-migration",
  setup: ({ onLoad }) =>
    onLoad({ filter: /migrations\/tables\/all\.ts$/ }, async ({ path }) => {
      const migration = JSON.stringify({ name, path: name, text: `-- slow: 1 hour\n${statement}\n` });
      const contents = (await readFile(path, "utf8")).replace(
        /await (Promise\.all\([\s\S]*\));/,
        (_, all) => `[...(await ${all}), ${migration}];`,
      );
      return { contents, loader: "ts" };
    }),
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

const succeeded = {
  method: "PUT",
  // The URL's signature leaves the type out.
  type: "",
  body: { ...names, Status: "SUCCESS", PhysicalResourceId: "migrations" },
};

describe("A deployment", () => {
  it("that updates a stack refuses an empty database, and changes nothing in it", async () => {
    const error = await ask("Update");

    expect(error).toMatch(/^The database is empty, .*`snapshot`.*`mayBeEmpty`/);
    expect(results.map(({ body }) => [body.Status, body.Reason])).toEqual([["FAILED", error]]);
    expect(await sql`select from pg_roles where rolname like 'colophon_%'`).toEqual([]);
    expect(await sql`select from pg_class where relnamespace = 'public'::regnamespace`).toEqual([]);
  });

  it.each([
    ["that updates a stack fills an empty database where the settings say so", "Update", { MayBeEmpty: "true" }],
    ["brings a new database up to date", "Create", undefined],
  ] as const)("%s", async (_, type, properties) => {
    await sql.query("drop schema public cascade; create schema public authorization pg_database_owner");

    expect(await ask(type, properties)).toBeUndefined();
    expect(results).toEqual([succeeded]);
    expect(await sql`select 1 from permissions where key = 'view-users'`).toHaveLength(1);
  });

  it("brings an existing database up to date", async () => {
    const [last] = await sql`select name from migrations order by name desc limit 1`;
    await sql`delete from permissions where key = 'view-users'`;

    expect(await ask("Update")).toBeUndefined();
    expect(results).toEqual([succeeded]);
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
      const outfile = join(service.directory, "slow.mjs");
      await bundle({
        ...bundling(),
        entryPoints: [join(import.meta.dirname, "../../../functions/ops/migrate-on-deploy.ts")],
        outfile,
        plugins: [withMigration("9999-slow", "create index concurrently if not exists clients_slow on clients (id);")],
      });
      vi.stubEnv("AWS_LAMBDA_FUNCTION_NAME", "colophon-dev-ops-migrate-on-deploy");
      vi.stubEnv("AWS_ENDPOINT_URL_LAMBDA", cloudFormation.url);
      ({ handler: slowHandler } = await import(outfile));
    });

    beforeEach(() => {
      results = [];
      invocations = [];
    });

    afterAll(() => vi.unstubAllEnvs());

    it("hands the request on to another invocation when its time is over, and returns nothing yet", async () => {
      await slowHandler(request(1), late);

      expect(results).toEqual([]);
      const [path, type, body = ""] = invocations[0]?.split(/ (?=Event|{)/) ?? [];
      expect([path, type]).toEqual(["/2015-03-31/functions/colophon-dev-ops-migrate-on-deploy/invocations", "Event"]);
      expect(JSON.parse(body)).toEqual(request(2));
      expect(invocations).toHaveLength(1);
    });

    it("fails after an hour, and says that the next one goes on watching", async () => {
      await expect(slowHandler(request(4), late)).rejects.toThrow(/the deployment again/);

      expect(invocations).toEqual([]);
      expect(results.map(({ body }) => [body.Status, body.Reason])).toEqual([
        [
          "FAILED",
          expect.stringMatching(/^Migration 9999-slow has yet to run; run ops-migrate or the deployment again/),
        ],
      ]);
    });

    it("succeeds when it is done, whichever invocation sees that", async () => {
      await slowHandler(request(3));

      expect(results.map(({ body }) => body.Status)).toEqual(["SUCCESS"]);
      expect(await sql`select indisvalid from pg_index where indexrelid = 'clients_slow'::regclass`).toEqual([
        { indisvalid: true },
      ]);
    });
  });

  it("that is taken down leaves the database alone", async () => {
    await sql`delete from permissions where key = 'view-users'`;

    expect(await ask("Delete")).toBeUndefined();
    expect(results).toEqual([succeeded]);
    expect(await sql`select 1 from permissions where key = 'view-users'`).toHaveLength(0);
  });

  it("fails with the file's name when a migration fails, and the failure is Lambda's as well", async () => {
    const [first] = await sql`select name, checksum from migrations order by name limit 1`;
    await sql`update migrations set checksum = 'other' where name = ${first?.name}`;

    const error = await ask("Update");

    const reason = `Migration ${first?.name} failed: the file was changed after it had been applied`;
    expect(error).toBe(reason);
    expect(results.map(({ body }) => body)).toEqual([
      { ...names, Status: "FAILED", Reason: reason, PhysicalResourceId: "migrations" },
    ]);
    await sql`update migrations set checksum = ${first?.checksum} where name = ${first?.name}`;
  });

  it("fails when CloudFormation does not take the response", async () => {
    status = 403;

    expect(await ask("Update")).toMatch(/403/);
    status = 200;
  });
});
