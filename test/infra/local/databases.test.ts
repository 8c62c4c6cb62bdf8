import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { openDatabase } from "../../support/database.ts";
import { type OwnPostgres, startOwnPostgres } from "../../support/own-postgres.ts";
import { type ServiceProcess, startProcess } from "../../support/service-process.ts";

// Each start is a process; other tests use the machine as well.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });
const services: ServiceProcess[] = [];
let server: OwnPostgres;

beforeAll(async () => {
  server = await startOwnPostgres();
});

afterAll(async () => {
  for (const service of services) await service.stop();
  await server.remove();
});

/** `npm start` on a database of the server, without a terminal. */
async function startOn(name: string, flags: readonly string[], user: object = {}): Promise<ServiceProcess> {
  const { href } = Object.assign(new URL(`${server.url}/${name}`), user);
  const service = await startProcess({ flags, env: { COLOPHON_DATABASE_URL: href } });
  services.push(service);
  return service;
}

const headers = { Cookie: "refreshToken=local-administrator", "Content-Type": "application/json" };
const statusesOf = ({ url }: ServiceProcess) =>
  Promise.all(["/publishers", "/admin-roles"].map(async (path) => (await fetch(url + path, { headers })).status));
const add = ({ url }: ServiceProcess, first_name: string) =>
  fetch(`${url}/admin-contributors/add`, { method: "POST", headers, body: JSON.stringify({ first_name }) });

describe("Services on another server", () => {
  it("create a database only with --create, and then use it without", async () => {
    await expect(startOn("catalogue", [])).rejects.toThrow(
      /^There is no database catalogue; npm start -- --create creates it\n$/,
    );

    await startOn("catalogue", ["--create"]);
    await startOn("catalogue", []);

    expect(await Promise.all(services.map(statusesOf))).toEqual(services.map(() => [200, 200]));
  });

  it("that share a database see each other's writes at once, and agree on their order", async () => {
    const names = Array.from({ length: 10 }, (_, number) => `Shared ${number}`);

    const replies = await Promise.all(names.flatMap((name) => services.map((service) => add(service, name))));

    const statuses = replies.map(({ status }) => status).sort();
    expect(statuses).toEqual([...names.map(() => 200), ...names.map(() => 409)]);
    const lists = services.map(async ({ url }) =>
      (await fetch(`${url}/admin-contributors?client=1&search=shared`, { headers })).json(),
    );
    const [one, other] = await Promise.all(lists);
    expect(one).toMatchObject({ max: names.length });
    expect(other).toEqual(one);
  });

  it("show no password among the processes", async () => {
    const { password } = new URL(server.url);
    const { stdout } = await promisify(execFile)("ps", ["-Ao", "pid=,ppid=,args="]);
    const family = stdout.split("\n").filter((line) => new RegExp(`\\b${services[1]?.pid}\\b`).test(line));

    expect(family.length).toBeGreaterThan(0);
    expect(family.filter((line) => line.includes(password))).toEqual([]);
  });

  it("with other secrets do not change the passwords of the first, unless they are told to", async () => {
    const sql = openDatabase(`${server.url}/postgres`, { max: 1 });
    await sql`create role second superuser login password 'second'`;
    await sql.end();
    const second = { username: "second", password: "second" };

    await expect(startOn("other", ["--create", "--empty"], second)).rejects.toThrow(
      /The role colophon_public has another password .*--set-passwords/,
    );
    expect(await Promise.all(services.map(statusesOf))).toEqual(services.map(() => [200, 200]));

    const { url } = await startOn("other", ["--empty", "--set-passwords"], second);
    expect((await fetch(`${url}/publishers`)).status).toBe(200);
  });
});
