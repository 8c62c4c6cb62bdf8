import { rm } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DeploymentEvent, handler as Handler } from "../../../../infra/stacks/database/migrate-on-deploy.ts";
import { packageMigration } from "../../../../infra/stacks/database/migration.ts";
import { type Stack, startStack } from "../../../support/stack.ts";

/* The bundle that CloudFormation asks, over a real database; CloudFormation's end is a server of the test. */

interface Answer {
  readonly method: string | undefined;
  readonly type: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

const outdir = join(import.meta.dirname, "../../../../node_modules/.cache", `colophon-migration-${process.pid}`);

let stack: Stack;
let handler: typeof Handler;
let answers: Answer[] = [];
let status = 200;
const cloudFormation = createServer(async (request: IncomingMessage, response) => {
  const { method, headers } = request;
  answers.push({ method, type: headers["content-type"], body: (await json(request)) as Answer["body"] });
  response.writeHead(status).end();
});

beforeAll(async () => {
  stack = await startStack();
  const { file } = await packageMigration({ outdir });
  ({ handler } = await import(file));
  await new Promise<void>((resolve) => cloudFormation.listen(0, "127.0.0.1", resolve));
});

afterAll(async () => {
  cloudFormation.close();
  await Promise.all([stack.close(), rm(outdir, { recursive: true })]);
});

const names = { StackId: "arn:stack", RequestId: "request", LogicalResourceId: "MigrationRun" };

async function ask(RequestType: DeploymentEvent["RequestType"]): Promise<Error | undefined> {
  const { port } = cloudFormation.address() as AddressInfo;
  answers = [];
  try {
    await handler({ ...names, RequestType, ResponseURL: `http://127.0.0.1:${port}/answer?signature=x` });
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

const succeeded = {
  method: "PUT",
  // The URL's signature leaves the type out.
  type: "",
  body: { ...names, Status: "SUCCESS", PhysicalResourceId: "migrations" },
};

describe("A deployment", () => {
  it.each(["Create", "Update"] as const)("brings the database up to date: %s", async (type) => {
    const [last] = await stack.sql`select name from migrations order by name desc limit 1`;
    await stack.sql`delete from permissions where key = 'view-users'`;

    expect(await ask(type)).toBeUndefined();
    expect(answers).toEqual([succeeded]);
    expect(await stack.sql`select name from migrations order by name desc limit 1`).toEqual([last]);
    expect(await stack.sql`select 1 from permissions where key = 'view-users'`).toHaveLength(1);
  });

  it("that is taken down leaves the database alone", async () => {
    await stack.sql`delete from permissions where key = 'view-users'`;

    expect(await ask("Delete")).toBeUndefined();
    expect(answers).toEqual([succeeded]);
    expect(await stack.sql`select 1 from permissions where key = 'view-users'`).toHaveLength(0);
  });

  it("fails with the file's name when a migration fails, and the failure is Lambda's as well", async () => {
    const [first] = await stack.sql`select name, checksum from migrations order by name limit 1`;
    await stack.sql`update migrations set checksum = 'other' where name = ${first?.name}`;

    const error = await ask("Update");

    const reason = `Migration ${first?.name} failed: the file was changed after it had been applied`;
    expect(error?.message).toBe(reason);
    expect(answers.map(({ body }) => body)).toEqual([
      { ...names, Status: "FAILED", Reason: reason, PhysicalResourceId: "migrations" },
    ]);
    await stack.sql`update migrations set checksum = ${first?.checksum} where name = ${first?.name}`;
  });

  it("fails when CloudFormation does not take the answer", async () => {
    status = 403;

    expect((await ask("Update"))?.message).toMatch(/403/);
    status = 200;
  });
});
