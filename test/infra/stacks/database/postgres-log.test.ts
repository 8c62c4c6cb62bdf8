import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { openDatabase } from "../../../support/database.ts";
import { startOwnPostgres } from "../../../support/own-postgres.ts";
import { synthesis } from "../synthesis.ts";

/* A PostgreSQL with the parameters that the cluster's template gives Aurora. */

const secret = "Ada Lovelace";

it("PostgreSQL's log contains slow statements and waits for a lock, and no value of a row or parameter", async () => {
  const server = await startOwnPostgres();
  const sql = openDatabase(`${server.url}/postgres`, { max: 2 });
  onTestFinished(async () => {
    await sql.end();
    await server.remove();
  });
  const log = () => readFile(join(server.directory, "server.log"), "utf8");
  const logged = (pattern: RegExp) => vi.waitFor(async () => expect(await log()).toMatch(pattern), { timeout: 30_000 });
  const { Parameters } = synthesis.template("colophon-prod-database").one("RDS::DBClusterParameterGroup").Properties;
  for (const [name, value] of Object.entries(Parameters)) await sql.query(`alter system set ${name} = '${value}'`);
  await sql`select pg_reload_conf()`;
  // A session reads them between two statements, once the signal has reached it.
  await vi.waitFor(
    async () => expect(await sql`show log_min_duration_statement`).toEqual([{ log_min_duration_statement: "500ms" }]),
    { timeout: 30_000 },
  );

  await sql`create table people (name text unique)`;
  await sql`insert into people values (${secret})`;
  await sql`select pg_sleep(0.6), ${secret}::text`;
  await logged(/duration: \d+\.\d+ ms .*select pg_sleep\(0\.6\), \$1::text/);
  const { waiting } = await sql.begin(async (other) => {
    await other`update people set name = name`;
    const waiting = sql`update people set name = name where name = ${secret}`;
    await logged(/still waiting for ShareLock/);
    return { waiting };
  });
  await waiting;
  await expect(sql`insert into people values (${secret})`).rejects.toThrow(/people_name_key/);
  await logged(/ERROR: {2}duplicate key value violates unique constraint "people_name_key"/);
  expect(await log()).not.toContain(secret);
});
