import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { type Lambda, startLambda } from "../../../infra/aws-local/lambda/lambda.ts";
import { defaultName as owner } from "../../../infra/local/database.ts";
import { loadDemo } from "../../../infra/local/demo/load.ts";
import { settingsOf } from "../../../infra/local/stage/functions.ts";
import { identifier, openDatabase } from "../../support/database.ts";
import { useStack } from "../../support/stack.ts";

const database = `swedish_${randomUUID().replaceAll("-", "")}`;
const stack = useStack({ from: "demo" });
/** Over a database that sorts as Swedes do: å, ä and ö behind z, v and w alike. */
let swedish: Lambda;

beforeAll(async () => {
  const admin = openDatabase(`${inject("databaseUrl")}/postgres`, { max: 1 });
  await admin`
    create database ${identifier(database)} owner ${identifier(owner)} template template0
    encoding 'UTF8' locale 'C' locale_provider icu icu_locale 'sv'
  `;
  await admin.end();
  const variables = { ...process.env, DATABASE_NAME: database };
  swedish = await startLambda({ outdir: inject("outdir"), settingsOf, variables });
  await swedish.invoke("ops-migrate", {});
  await loadDemo(swedish, `${inject("ownerUrl")}/${database}`);
});

afterAll(() => swedish.close());

/** The ids of a list. */
async function idsFrom(lambda: Lambda, name: string, queryStringParameters: object): Promise<number[]> {
  const requestContext = { requestId: randomUUID() };
  const event = { httpMethod: "GET", path: "/", headers: {}, queryStringParameters, body: null, requestContext };
  const invocation = await lambda.invoke(name, event);
  expect(invocation).toMatchObject({ result: { statusCode: 200 } });
  const { body } = (invocation as { result: unknown }).result as { body: string };
  const { contributors, publishers } = JSON.parse(body);
  return (contributors ?? publishers).map(({ id }: { id: number }) => id);
}

it.each([
  ["contributors-list", { client: "1" }],
  ["contributors-list", { client: "2", order: "name-desc" }],
  ["contributors-list", { client: "1", search: "Ö" }],
  ["contributors-list", { client: "1", search: "W" }],
  ["contributors-list", { client: "2", search: "Lé" }],
  ["publishers-list", { order: "name-asc" }],
  ["publishers-list", { search: "É" }],
])("A database with another locale gives the same response to %s %o", async (name, query) => {
  const ids = await idsFrom(swedish, name, query);

  expect(ids).toEqual(await idsFrom(stack.lambda, name, query));
  expect(ids.length).toBeGreaterThan(0);
});
