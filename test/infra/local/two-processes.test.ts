import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { identifier, openDatabase } from "../../support/database.ts";
import { type ServiceProcess, startProcess } from "../../support/service-process.ts";

// Each start is a process, a build and a PostgreSQL; other tests use the machine as well.
vi.setConfig({ testTimeout: 90_000 });
const database = `shared_${process.pid}`;
const services: ServiceProcess[] = [];

/** `npm start` on the common database. */
const start = () =>
  startProcess({ flags: ["--create"], env: { COLOPHON_DATABASE_URL: `${inject("databaseUrl")}/${database}` } });

beforeAll(async () => {
  services.push(await start(), await start());
});

afterAll(async () => {
  for (const service of services) await service.stop();
  const admin = openDatabase(`${inject("databaseUrl")}/postgres`, { max: 1 });
  await admin`drop database if exists ${identifier(database)} with (force)`;
  await admin.end();
});

const add = (url: string, first_name: string) =>
  fetch(`${url}/admin-contributors/add`, {
    method: "POST",
    headers: { Cookie: "refreshToken=local-administrator", "Content-Type": "application/json" },
    body: JSON.stringify({ first_name }),
  });

describe("Two processes on one database", () => {
  it("see each other's writes at once, and agree on their order", async () => {
    const names = Array.from({ length: 10 }, (_, number) => `Shared ${number}`);

    const replies = await Promise.all(names.flatMap((name) => services.map(({ url }) => add(url, name))));

    const statuses = replies.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(names.length);
    expect(statuses.filter((status) => status === 409)).toHaveLength(names.length);
    const headers = { Cookie: "refreshToken=local-administrator" };
    const lists = await Promise.all(
      services.map(async ({ url }) =>
        (await fetch(`${url}/admin-contributors?client=1&search=shared`, { headers })).json(),
      ),
    );
    expect(lists[0]).toEqual(lists[1]);
    expect(lists[0]).toMatchObject({ max: names.length });
  });

  it("show no password among the processes", async () => {
    const { password } = new URL(inject("databaseUrl"));
    const { stdout } = await promisify(execFile)("ps", ["-Ao", "pid=,ppid=,args="]);
    const family = stdout.split("\n").filter((line) => new RegExp(`\\b${services[1]?.pid}\\b`).test(line));

    expect(family.length).toBeGreaterThan(0);
    expect(family.filter((line) => line.includes(password))).toEqual([]);
  });
});
