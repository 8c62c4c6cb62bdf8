import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { plansOf } from "../../../infra/local/query-plan.ts";
import { identifier, openDatabase } from "../../support/database.ts";
import { createDatabase } from "../../support/own-database.ts";
import { runScript } from "../../support/script.ts";

let databaseUrl: string;

beforeAll(async () => {
  databaseUrl = `${inject("databaseUrl")}/${await createDatabase("demo")}`;
});

const committed = (name: string) => readFile(`lib/queries/statements/${name}.sql`, "utf8");

describe("The plan of a committed statement", () => {
  it("of a change comes with those of its statements, and changes nothing", async () => {
    const sql = openDatabase(databaseUrl, { max: 1 });
    const contents = () => sql`select roles.*, (select count(*) from changes) from roles order by id`;
    const before = await contents();

    const plan = await plansOf(await committed("admin-roles/edit"), databaseUrl);

    expect(plan).toMatch(/^-- POST \/admin-roles\/edit\/\{id\}\n\nduration: .* plan:\nQuery Text: /);
    expect(plan).toMatch(/update roles\s.*Update on roles [^\n]*actual/s);
    expect(await contents()).toEqual(before);
    await sql.end();
  });

  it("is shown to users that are no superusers, too", async () => {
    const sql = openDatabase(databaseUrl, { max: 1 });
    const user = `reader_${randomUUID()}`;
    await sql`create role ${identifier(user)} login password 'reads' in role colophon_reader`;
    const url = Object.assign(new URL(databaseUrl), { username: user, password: "reads" });

    expect(await plansOf(await committed("admin-roles/list"), url.href)).toMatch(/\nExecution Time: .*$/);
    await sql`drop role ${identifier(user)}`;
    await sql.end();
  });
});

describe("npm run sql", () => {
  const run = (...words: string[]) =>
    runScript("infra/local/sql.ts", words, { env: { COLOPHON_DATABASE_URL: databaseUrl } });

  it("names the file of an endpoint's statements", async () => {
    expect(await run("contributors/list")).toEqual({
      code: 0,
      output: "lib/queries/statements/contributors/list.sql\n",
      complaint: "",
    });
  });

  it("prints the plan of each of the statements with --explain, and nothing else", async () => {
    const { output, complaint } = await run("contributors/list", "--explain");

    expect(complaint).toBe("");
    const plans = output.split(/\n\n(?=-- )/);
    expect(plans.map((each) => each.split("\n")[0])).toEqual([
      "-- GET /contributors",
      "-- A search",
      "-- The next page of a list that exceeds a result of the Data API",
    ]);
    for (const plan of plans) expect(plan).toMatch(/\(actual .*\nPlanning Time: .*\nExecution Time: [^\n]*\n?$/s);
  });

  it("refuses a function without a committed statement", async () => {
    expect(await run("ops/undo", "--explain")).toMatchObject({
      code: 1,
      complaint: expect.stringContaining("ops/undo has no committed statement"),
    });
  });
});
