import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Field } from "@aws-sdk/client-rds-data";
import type { APIGatewayProxyEvent } from "aws-lambda";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { eventOf } from "../../../infra/event.ts";
import type { Statement } from "../../../infra/local/query-plan.ts";
import { readable, startRecorder } from "../../../infra/local/sql.ts";
import { type Declaration, endpointPath, isNavigation } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";

/*
 * What each endpoint sends to PostgreSQL for its sample event is kept in lib/queries/statements, so that a diff shows
 * it. `npx vitest run test/lib/queries/statements.test.ts -u` writes the files anew.
 */

const folder = join(import.meta.dirname, "../../../lib/queries/statements");
let recorder: Awaited<ReturnType<typeof startRecorder>>;

beforeAll(async () => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  recorder = await startRecorder(inject("outdir"));
});

afterAll(() => recorder.close());

const longValue = (value: number): Field => ({ longValue: value });
const stringValue = (value: string): Field => ({ stringValue: value });

/** Results by which a list has more records than one result: the first ones do not fit into a row, and more follow. */
const longList: readonly (readonly Field[])[] = [
  [longValue(1_000_000), { isNull: true }, longValue(200), longValue(1), longValue(5_000), longValue(400)],
  [
    ...[longValue(2), longValue(0), stringValue(btoa("{}"))],
    ...[longValue(200), longValue(1), longValue(5_000), longValue(2_000), longValue(77), stringValue("key")],
  ],
];

/** Of these values each run has others. */
const withoutRun = (text: string): string =>
  text
    .replace(/\bchanges_[0-9a-f]{12}\b/g, "release")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "…")
    .replace(/"key":"[^"]*"/g, '"key":"…"');

/** The statements for the sample event of an endpoint; of a list also for a search and for a later page. */
async function statementsOf(declaration: Declaration): Promise<string> {
  const name = endpointPath(declaration);
  const event = (await eventOf(name)) as APIGatewayProxyEvent;
  const { search = "Takahashi", limit, ...others } = event.queryStringParameters ?? {};
  const send = (query: object, results?: typeof longList) =>
    recorder.statementsOf(name, { ...event, queryStringParameters: query }, results);
  const [first] = await send(limit ? { ...others, limit } : others);
  const found = [[`${declaration.method} ${declaration.path}`, first]] as [string, Statement][];
  if ("search" in (declaration.query ?? {})) {
    const [searching] = await send({ ...others, limit, search });
    found.push(["A search", searching]);
  }
  if ("list" in declaration.response) {
    const [, , later] = await send(others, longList);
    if (later) found.push(["The next page of a list that exceeds a result of the Data API", later]);
  }
  return `${found.map(([title, statement]) => `-- ${title}\n${withoutRun(asSql(statement))}`).join("\n\n")}\n`;
}

/** The statement, and its parameters as comments. */
function asSql(statement: Statement): string {
  const [text = "", ...parameters] = readable(statement).split(/\n+(?=:\d+ = )/);
  return [`${text};`, ...parameters.map((each) => `-- ${each}`)].join("\n");
}

/** To sign in asks the database only when the provider has answered (test/lib/data-api/sign-in.test.ts). */
const asking = endpoints.filter((each) => !isNavigation(each));

describe("What PostgreSQL gets is in lib/queries/statements", () => {
  it.each(asking.map((each) => [endpointPath(each), each] as const))("for %s", async (name, declaration) => {
    await expect(await statementsOf(declaration)).toMatchFileSnapshot(join(folder, `${name}.sql`));
  });

  it("and nothing else", () => {
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".sql"));

    expect(files.map((file) => file.replaceAll("\\", "/")).toSorted()).toEqual(
      asking.map((each) => `${endpointPath(each)}.sql`).toSorted(),
    );
  });
});
