import { type ChildProcess, execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { eventOf } from "../../../../infra/command/event.ts";
import { planOf } from "../../../../infra/local/sql/query-plan.ts";
import { readable, startRecorder } from "../../../../infra/local/sql/sql.ts";
import { identifier, openDatabase } from "../../../support/database.ts";

const root = join(import.meta.dirname, "../../../..");
const database = `sql_${randomUUID().replaceAll("-", "")}`;
const databaseUrl = `${inject("databaseUrl")}/${database}`;
const admin = openDatabase(`${inject("databaseUrl")}/postgres`, { max: 1 });
let recorder: Awaited<ReturnType<typeof startRecorder>>;

beforeAll(async () => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  await admin`create database ${identifier(database)} template demo`;
  recorder = await startRecorder(inject("outdir"));
});

afterAll(async () => {
  await recorder.close();
  await admin`drop database ${identifier(database)} with (force)`;
  await admin.end();
});

const statementOf = async (name: string, payload?: string) =>
  (await recorder.statementsOf(name, await eventOf(name, payload)))[0];

describe("The statement of", () => {
  it.each([
    ...["contributors/list", "publisher/slug", "admin-roles/edit", "session"],
    ...["ops/list-changes", "ops/tidy", "ops/undo"],
  ])("%s can be read, and planned", async (name) => {
    const statement = await statementOf(name);

    expect(readable(statement)).toMatch(/^(with|select)\n/);
    expect(await planOf(statement, databaseUrl)).toMatch(/\(actual .*\nPlanning Time: .*\nExecution Time: .*$/s);
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

  it("is the whole event of an operators' function", async () => {
    expect(await eventOf("ops/list-changes", '{"limit": 5}')).toEqual({ limit: 5 });
  });

  it.each([
    ["contributors/list", "{", "The payload is not JSON: {"],
    ["contributors/list", '{"client": 1}', "Invalid payload: client: unknown. That of an endpoint has path, query,"],
    ["contributors/list", '{"query": {"client": [1]}}', "Invalid payload: query.client: must be text or a number."],
    ["ops/tidy", "{", "The payload is not JSON: {"],
    ["ops/tidy", "nowhere.json", "nowhere.json"],
  ])("of %s that is %s is refused", async (name, payload, reason) => {
    await expect(eventOf(name, payload)).rejects.toThrow(reason);
  });

  it("without a statement is an error with the function's answer", async () => {
    await expect(statementOf("contributors/list", '{"query": {}}')).rejects.toThrow(
      'No statement is sent: {"data":"Required parameters missing","code":400}',
    );
    await expect(statementOf("ops/tidy", '{"days": 0}')).rejects.toThrow(
      "No statement is sent: Invalid payload: days: ",
    );
    await expect(statementOf("ops/rotate-password")).rejects.toThrow("No statement is sent: {}");
    await expect(statementOf("ops/migrate-on-deploy")).rejects.toThrow("No statement is sent: null");
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
    const user = `reader_${randomUUID()}`;
    await admin`create role ${identifier(user)} login password 'reads' in role colophon_reader`;
    const url = Object.assign(new URL(databaseUrl), { username: user, password: "reads" });

    expect(await planOf(await statementOf("admin-roles/list"), url.href)).toMatch(/\nExecution Time: .*$/);
    await admin`drop role ${identifier(user)}`;
  });
});

describe("npm run sql", () => {
  const run = (...args: string[]) =>
    new Promise<{ code: ChildProcess["exitCode"]; output: string; complaint: string }>((resolve) => {
      const child = execFile(
        process.execPath,
        [join(root, "infra/local/sql/sql.ts"), ...args],
        { env: { ...process.env, COLOPHON_DATABASE_URL: databaseUrl } },
        (_, output, complaint) => resolve({ code: child.exitCode, output, complaint }),
      );
    });

  it("prints statement, parameters and plan, and nothing else", async () => {
    const { code, output, complaint } = await run(
      "contributors/list",
      '{"query": {"client": 1, "search": "Hergé"}}',
      "--explain",
    );

    expect({ code, complaint }).toEqual({ code: 0, complaint: "" });
    expect(output).toMatch(/^select\n.*\n\n:1 = .*'Herge'.*\n\n[^\n]*\(actual .*\nExecution Time: [^\n]*\n$/s);
  });

  it.each([
    ["contributors/lost", "There is no function contributors/lost; did you mean contributors/list?\n"],
    ["admin-rolls-list", "There is no function admin-rolls-list; did you mean admin-roles-list?\n"],
    ["nothing", /^There is no function nothing\. There are:\n.*\n {2}contributors\/list\n/s],
  ])("ends with 1 where there is no function %s, and names those that may be meant", async (name, expected) => {
    const { code, output, complaint } = await run(name);

    expect({ code, output }).toEqual({ code: 1, output: "" });
    expect(complaint).toMatch(expected);
  });
});
