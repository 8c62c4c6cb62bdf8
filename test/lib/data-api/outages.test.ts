import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { type ApiGateway, startApiGateway } from "../../../infra/aws-local/api-gateway/server.ts";
import { type DataApi, startDataApi } from "../../../infra/aws-local/data-api/server.ts";
import { startLambda } from "../../../infra/aws-local/lambda/lambda.ts";
import { type Postgres, startPostgres } from "../../../infra/aws-local/postgres/server.ts";
import { localDocument } from "../../../infra/local/stage/document.ts";
import { settingsOf } from "../../../infra/local/stage/functions.ts";
import { newSecrets } from "../../../infra/local/stage/secrets.ts";
import { addClients } from "../../support/catalogue.ts";
import { openDatabase, type Sql } from "../../support/database.ts";
import { copyEmptyCluster } from "../../support/empty-cluster.ts";
import { key, panelOrigin, useDatabase } from "../../support/environment.ts";
import { anAdministrator } from "../../support/people.ts";

let directory: string;
let server: Postgres;
let dataApi: DataApi;
let gateway: ApiGateway;
let sql: Sql;
let token: string;

const start = (port?: number) => startPostgres({ directory: join(directory, "postgres"), ...(port && { port }) });

/** A PostgreSQL of its own, since others would not like it to be restarted; one that loses nothing in a crash. */
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "colophon-outages-"));
  await copyEmptyCluster(join(directory, "postgres"));
  server = await start();
  dataApi = await startDataApi({ databaseUrl: server.url, secrets: newSecrets(server.url), key });
  useDatabase("postgres", dataApi.url);
  const lambda = await startLambda({ outdir: inject("outdir"), settingsOf });
  await lambda.invoke("ops-migrate", {});
  gateway = await startApiGateway({ lambda, document: localDocument({ allowedOrigins: [panelOrigin] }) });
  sql = openDatabase(`${server.url}/postgres`, { max: 1 });
  await addClients(sql);
  token = (await anAdministrator(sql)).token;
});

afterAll(async () => {
  await gateway.close();
  await dataApi.close();
  await sql.end();
  await server.stop();
  await rm(directory, { recursive: true });
});

const headers = () => ({ Cookie: `refreshToken=${token}`, "Content-Type": "application/json" });
const read = () => fetch(`${gateway.url}/contributors?client=1`);
let additions = 0;
const write = () =>
  fetch(`${gateway.url}/admin-contributors/add`, {
    method: "POST",
    headers: headers(),
    body: JSON.stringify({ first_name: `Added ${++additions}` }),
  });

const written = async () => Number((await sql`select count(*) from contributors`)[0]?.count);

/** Visitors who send a request whenever the one before is answered. */
function traffic(...visits: (() => Promise<Response>)[]) {
  const statuses: number[] = [];
  let isOver = false;
  const visitor = async (visit: () => Promise<Response>) => {
    while (!isOver) {
      const response = await visit();
      await response.text();
      statuses.push(response.status);
    }
  };
  const done = Promise.all(visits.map(visitor));
  return {
    /** Waits for three more answers a visitor. */
    async goOn() {
      const wanted = statuses.length + 3 * visits.length;
      await vi.waitUntil(() => statuses.length >= wanted, { timeout: 30_000 });
    },
    /** All statuses that there were. */
    async stop() {
      isOver = true;
      await done;
      return statuses;
    },
  };
}

const downInMilliseconds = 1_000;

async function restart(): Promise<void> {
  await sleep(downInMilliseconds);
  server = await start(Number(new URL(server.url).port));
}

describe("Reads and writes", () => {
  it.each([
    ["restarts", () => server.stop().then(restart)],
    ["crashes", () => Promise.resolve(process.kill(server.processId, "SIGQUIT")).then(restart)],
    ["loses a session, and with it all others", killSession],
  ])("wait and succeed while PostgreSQL %s in the middle of them", async (_, interrupt) => {
    const { goOn, stop } = traffic(read, read, read, write, write, write);
    await goOn();

    await interrupt();
    await goOn();
    const statuses = await stop();

    expect([...new Set(statuses)]).toEqual([200]);
    expect(await written()).toBe(additions);
  });

  it("succeed by a second attempt when the first one gets no answer", async () => {
    dataApi.calls.length = 0;
    dataApi.intercept(({ number }) => (number <= 2 ? new Promise(() => {}) : undefined));
    const start = Date.now();

    const replies = await Promise.all([read(), write()]);

    dataApi.intercept(undefined);
    expect(replies.map(({ status }) => status)).toEqual([200, 200]);
    expect(Date.now() - start).toBeLessThan(16_000);
    expect(await written()).toBe(additions);
  });
});

/** PostgreSQL ends all sessions when one is killed, since it may have damaged the memory they share. */
async function killSession(): Promise<void> {
  const sessions = "select pid from pg_stat_activity where application_name = 'data-api' limit 1";
  process.kill((await sql.query(sessions))[0]?.pid, "SIGKILL");
}
