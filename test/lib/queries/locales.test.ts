import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { type Lambda, startLambda } from "../../../infra/aws-local/lambda/lambda.ts";
import { startPostgres } from "../../../infra/aws-local/postgres/server.ts";
import { startDataApi } from "../../../infra/aws-local/test/data-api.ts";
import { loadDemo } from "../../../infra/local/demo/load.ts";
import { settingsOf } from "../../../infra/local/stage/functions.ts";
import { newSecrets } from "../../../infra/local/stage/secrets.ts";
import { openDatabase } from "../../support/database.ts";
import { key, useDatabase } from "../../support/environment.ts";
import { type Stack, startStack } from "../../support/stack.ts";

let stack: Stack;
let swedish: Lambda;
const closing: (() => Promise<unknown>)[] = [];

/** A cluster that sorts as Swedes do: å, ä and ö behind z, v and w alike. */
async function startSwedish(): Promise<Lambda> {
  const directory = await mkdtemp(join(tmpdir(), "colophon-swedish-"));
  closing.push(() => rm(directory, { recursive: true, force: true }));
  const server = await startPostgres({ directory: join(directory, "postgres"), locale: "icu:sv", durable: false });
  closing.push(() => server.stop());
  const dataApi = await startDataApi({ databaseUrl: server.url, secrets: newSecrets(server.url), key });
  closing.push(() => dataApi.close());
  const admin = openDatabase(`${server.url}/postgres`, { max: 1 });
  await admin`create database swedish`;
  await admin.end();
  // Bundles read their environment when they are loaded, so this cluster needs its own.
  const outdir = join(inject("cache"), "swedish");
  await cp(inject("outdir"), outdir, { recursive: true });
  closing.push(() => rm(outdir, { recursive: true, force: true }));
  useDatabase("swedish", dataApi.url);
  const lambda = await startLambda({ outdir, settingsOf });
  await lambda.invoke("ops-migrate", {});
  await loadDemo(lambda, `${server.url}/swedish`);
  return lambda;
}

beforeAll(async () => {
  stack = await startStack({ from: "demo" });
  // The SDK reads its endpoint with the first statement.
  await stack.lambda.invoke("contributors-list", eventOf({ client: "1" }));
  await stack.lambda.invoke("publishers-list", eventOf({}));
  swedish = await startSwedish();
});

afterAll(async () => {
  for (const close of closing.reverse()) await close();
  await stack.close();
});

const eventOf = (queryStringParameters: Record<string, string>) => ({
  httpMethod: "GET",
  path: "/",
  headers: {},
  pathParameters: null,
  queryStringParameters,
  body: null,
  isBase64Encoded: false,
  requestContext: { requestId: "00000000-0000-0000-0000-000000000000" },
});

async function idsFrom(lambda: Lambda, name: string, query: Record<string, string>): Promise<number[]> {
  const invocation = await lambda.invoke(name, eventOf(query));
  expect(invocation).toMatchObject({ result: { statusCode: 200 } });
  const { body } = (invocation as { result: unknown }).result as { body: string };
  const { contributors, publishers } = JSON.parse(body);
  return (contributors ?? publishers).map(({ id }: { id: number }) => id);
}

describe("A database with another locale", () => {
  it.each([
    ["contributors-list", { client: "1" }],
    ["contributors-list", { client: "2", order: "name-desc" }],
    ["contributors-list", { client: "1", search: "Ö" }],
    ["contributors-list", { client: "1", search: "W" }],
    ["contributors-list", { client: "2", search: "Lé" }],
    ["publishers-list", { order: "name-asc" }],
    ["publishers-list", { search: "É" }],
  ])("gives the same answer to %s %o", async (name, query) => {
    const ids = await idsFrom(swedish, name, query);

    expect(ids).toEqual(await idsFrom(stack.lambda, name, query));
    expect(ids.length).toBeGreaterThan(0);
  });
});
