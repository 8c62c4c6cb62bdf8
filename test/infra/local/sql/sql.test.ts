import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { eventOf } from "../../../../infra/command/event.ts";
import { planOf } from "../../../../infra/local/sql/query-plan.ts";
import { readable, startRecorder } from "../../../../infra/local/sql/sql.ts";
import { identifier, openDatabase } from "../../../support/database.ts";
import { createDatabase } from "../../../support/own-database.ts";
import { runScript } from "../../../support/script.ts";

let databaseUrl: string;
let recorder: Awaited<ReturnType<typeof startRecorder>>;

beforeAll(async () => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  databaseUrl = `${inject("databaseUrl")}/${await createDatabase("demo")}`;
  recorder = await startRecorder(inject("outdir"));
});

afterAll(() => recorder.close());

const statementOf = async (name: string, payload?: string) =>
  (await recorder.statementsOf(name, await eventOf(name, payload)))[0];

it.each(["contributors/list", "ops/undo"])("The statement of %s can be read, and planned", async (name) => {
  const statement = await statementOf(name);

  expect(readable(statement)).toMatch(/^(with|select)\s/);
  expect(await planOf(statement, databaseUrl)).toMatch(/\(actual .*\nPlanning Time: .*\nExecution Time: .*$/s);
});

describe("A readable statement", () => {
  const readableOf = (sql: string) => readable({ sql, parameters: [] });

  it("has a line for each clause that fits into 120 columns", () => {
    expect(readableOf("select id,\n case when b then ')' end\n from a where (\n b or c\n)")).toBe(
      "select id, case when b then ')' end\nfrom a\nwhere (b or c)",
    );
  });

  it("has a line for each part of a clause that does not fit", () => {
    const columns = Array.from({ length: 30 }, (_, index) => `column_${index}`);

    const lines = readableOf(`select ${columns.join(", ")} from a`).split("\n");

    expect(lines).toEqual(["select", ...columns.map((name, index) => `  ${name}${index < 29 ? "," : ""}`), "from a"]);
  });

  it("keeps a comment on a line of its own", () => {
    expect(readableOf("select (\n-- why\nselect 1)")).toMatch(/^ *-- why$/m);
  });
});

describe("A payload", () => {
  it("replaces path, query, body and session of the sample event", async () => {
    const given = { path: { id: 7 }, query: { client: 2 }, body: { name: "Guest's" }, as: "local-reader" };

    const event = await eventOf("admin-roles/edit", JSON.stringify(given));
    const text = readable(await statementOf("admin-roles/edit", JSON.stringify({ body: { name: "Guest's" } })));

    expect(event).toMatchObject({
      resource: "/admin-roles/edit/{id}",
      pathParameters: { id: "7" },
      queryStringParameters: { client: "2" },
      headers: { "Content-Type": "application/json", Cookie: "refreshToken=local-reader" },
      body: '{"name":"Guest\'s"}',
    });
    expect(text).toMatch(/^:1 = '{.*"name":"Guest''s".*}'$/m);
  });

  it.each([
    ["contributors/list", "{", "The payload is not JSON: {"],
    ["contributors/list", '{"client": 1}', 'Unrecognized key: "client". That of an endpoint has path, query,'],
    ["contributors/list", '{"query": {"client": [1]}}', "Invalid payload: query.client: must be text or a number."],
    ["ops/tidy", "nowhere.json", "nowhere.json"],
    ["contributors/list", '{"query": {}}', 'No statement is sent: {"data":"Required parameters missing","code":400}'],
    ["ops/tidy", '{"days": 0}', "Invalid payload: days: "],
    ["ops/rotate-password", undefined, "No statement is sent: {}"],
    ["ops/migrate-on-deploy", undefined, "No statement is sent: null"],
  ])("of %s that is %s is refused", async (name, payload, reason) => {
    await expect(statementOf(name, payload)).rejects.toThrow(reason);
  });

  it.each(["contributors/list", "ops/tidy"])("of %s that is a file with null is not taken for none", async (name) => {
    const file = join(inject("cache"), "payload.json");
    await writeFile(file, "null\n");

    await expect(eventOf(name, file)).rejects.toThrow("Invalid payload: ");
  });
});

describe("A plan", () => {
  it("of a change comes with those of its statements, and changes nothing", async () => {
    const sql = openDatabase(databaseUrl, { max: 1 });
    const contents = () => sql`select roles.*, (select count(*) from changes) from roles order by id`;
    const before = await contents();

    const plan = await planOf(await statementOf("admin-roles/edit"), databaseUrl);

    expect(plan).toMatch(/^duration: .* plan:\nQuery Text: /);
    expect(plan).toMatch(/update roles\s.*Update on roles [^\n]*actual/s);
    expect(await contents()).toEqual(before);
    await sql.end();
  });

  it("is shown to users that are no superusers, too", async () => {
    const sql = openDatabase(databaseUrl, { max: 1 });
    const user = `reader_${randomUUID()}`;
    await sql`create role ${identifier(user)} login password 'reads' in role colophon_reader`;
    const url = Object.assign(new URL(databaseUrl), { username: user, password: "reads" });

    expect(await planOf(await statementOf("admin-roles/list"), url.href)).toMatch(/\nExecution Time: .*$/);
    await sql`drop role ${identifier(user)}`;
    await sql.end();
  });
});

it("npm run sql prints statement, parameters and plan, and nothing else", async () => {
  const words = ["contributors/list", '{"query": {"client": 1, "search": "Hergé"}}', "--explain"];
  const env = { COLOPHON_DATABASE_URL: databaseUrl };
  const { output, complaint } = await runScript("infra/local/sql/sql.ts", words, { env });

  expect(complaint).toBe("");
  expect(output).toMatch(/^select .*\n\n:1 = .*'[^']*Hergé[^']*'.*\n\n[^\n]*\(actual .*\nExecution Time: [^\n]*\n$/s);
});
