import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { identifier, openDatabase, type Sql } from "../../support/database.ts";
import { aRole } from "../../support/records.ts";

const database = `roles_${randomUUID().replaceAll("-", "")}`;
const url = `${inject("databaseUrl")}/${database}`;
const admin = openDatabase(`${inject("databaseUrl")}/postgres`, { max: 1 });
let sql: Sql;

beforeAll(async () => {
  await admin`create database ${identifier(database)} template blank`;
  sql = openDatabase(url, { max: 1 });
});

afterAll(async () => {
  await sql.end();
  await admin`drop database ${identifier(database)} with (force)`;
  await admin.end();
});

/** Does something, and gives the plans of all its statements with the rows that they read. */
async function plansOf(work: (sql: Sql) => Promise<unknown>): Promise<string[]> {
  const plans: string[] = [];
  const observed = openDatabase(url, { max: 1, onNotice: (message) => plans.push(message) });
  await observed.query(`
    load 'auto_explain';
    set auto_explain.log_min_duration = 0;
    set auto_explain.log_nested_statements = on;
    set auto_explain.log_analyze = on;
    set client_min_messages = log;
  `);
  await work(observed);
  await observed.end();
  return plans;
}

describe("The default role", () => {
  it("goes to thousands who lose their only role, without comparing all with all", async () => {
    const role = await aRole(sql);
    await sql`insert into users (username, slug) select 'User ' || n, 'user-' || n from generate_series(1, 5000) as n`;
    await sql`insert into user_roles (user_id, role_id) select id, ${role.id} from users`;
    await sql`analyze users, user_roles`;

    const plans = await plansOf((observed) => observed`delete from roles where id = ${role.id}`);

    expect(plans.filter((plan) => plan.includes("Insert on user_roles"))).toHaveLength(1);
    expect(plans.filter((plan) => plan.includes("Rows Removed by Join Filter"))).toEqual([]);
    expect(await sql`select from user_roles join roles on roles.id = role_id where is_default = 1`).toHaveLength(5000);
  });
});
