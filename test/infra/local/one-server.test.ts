import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { runningPostgres } from "../../../infra/aws-local/postgres/cluster.ts";
import { openDatabase } from "../../support/database.ts";
import { type ServiceProcess, startProcess } from "../../support/service-process.ts";

// Each start is a process, a build and a PostgreSQL; other tests use the machine as well.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 });

const services: ServiceProcess[] = [];
let serverUrl: string;

/** `npm start` on a database of the first service's PostgreSQL. */
async function startOn(databaseUrl: string, ...flags: string[]): Promise<ServiceProcess> {
  const service = await startProcess({
    env: { COLOPHON_DATABASE_URL: databaseUrl },
    flags: ["--create", ...flags],
  });
  services.push(service);
  return service;
}

const statusesOf = ({ url }: ServiceProcess) =>
  Promise.all(
    ["/publishers", "/admin-roles"].map(async (path) => {
      const headers = { Cookie: "refreshToken=local-administrator" };
      return (await fetch(url + path, { headers })).status;
    }),
  );

beforeAll(async () => {
  const first = await startProcess();
  services.push(first);
  serverUrl = await runningPostgres(join(first.directory, "postgres"));
  const sql = openDatabase(`${serverUrl}/postgres`, { max: 1 });
  await sql`create role second superuser login password 'second'`;
  await sql.end();
});

afterAll(async () => {
  for (const service of services.reverse()) await service.stop();
});

describe("A second service on another database of the same server", () => {
  it("does not start if it had to change the passwords of the first, and says what to do", async () => {
    const databaseUrl = Object.assign(new URL(`${serverUrl}/second`), { username: "second", password: "second" }).href;

    await expect(startOn(databaseUrl)).rejects.toThrow(
      /The role colophon_public has another password .*--set-passwords/,
    );

    expect(await Promise.all(services.map(statusesOf))).toEqual([[200, 200]]);
  });

  it("runs beside the first with the same user, and so the same passwords", async () => {
    await startOn(`${serverUrl}/third`);

    expect(await Promise.all(services.map(statusesOf))).toEqual([
      [200, 200],
      [200, 200],
    ]);
  });

  it("takes the roles over if it is told to", async () => {
    const databaseUrl = Object.assign(new URL(`${serverUrl}/fourth`), { username: "second", password: "second" }).href;

    const taker = await startOn(databaseUrl, "--set-passwords");

    expect(await statusesOf(taker)).toEqual([200, 200]);
  });
});
