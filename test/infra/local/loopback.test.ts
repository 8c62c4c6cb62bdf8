import { spawn } from "node:child_process";
import { chmod, mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { send } from "../../../infra/aws-local/test/send.ts";
import { writeCredentials } from "../../../infra/local/credentials.ts";
import { isLoopback } from "../../../infra/local/database.ts";
import { loopbackOrigins } from "../../../infra/local/pages/origins.ts";
import { key } from "../../support/environment.ts";
import { anAdministrator } from "../../support/people.ts";
import { aRole } from "../../support/records.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack({ uploads: true, allowedOrigins: [...loopbackOrigins, "https://panel.example.com"] });

/** Whether something responses there at once. */
const responses = (host: string, port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect({ host, port, timeout: 1_000 });
    socket.once("connect", () => resolve(true));
    for (const failed of ["error", "timeout"]) socket.once(failed, () => resolve(false));
    socket.once("connect", () => socket.destroy()).once("timeout", () => socket.destroy());
  });

it("The local servers listen on loopback only", async () => {
  for (const url of [stack.url, stack.dataApi.url, stack.s3?.url ?? "", inject("databaseUrl")]) {
    const port = Number(new URL(url).port);
    expect(await responses("127.0.0.1", port)).toBe(true);
    // Who listens on every address responds on this one, too.
    expect(await responses("127.0.0.2", port), url).toBe(false);
  }
});

describe("The gateway", () => {
  const paths = ["/publishers", "/docs", "/images/avatars/one.webp", "/2015-03-31/functions/ops-migrate/invocations"];
  const hosts = ["evil.example.com", "evil.example.com:3000", "localhost.example.com", "127.0.0.1.example.com"];

  it.each(paths)("returns 403 to %s where another host is meant", async (path) => {
    for (const Host of hosts) {
      const method = path.endsWith("invocations") ? "POST" : "GET";
      const { status, json } = await send(stack.url, path, { method, headers: { Host } });

      expect({ status, json }, Host).toEqual({ status: 403, json: { data: "Forbidden", code: 403 } });
    }
    expect(stack.dataApi.calls).toEqual([]);
  });

  it("responds to each name of this machine, with any port", async () => {
    const { port } = new URL(stack.url);

    for (const Host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`, "localhost:4000", "localhost"])
      expect((await send(stack.url, "/publishers", { headers: { Host } })).status, Host).toBe(200);
  });
});

/** What another user of this machine gets to see, whom root can become. */
const script = `
  const { readFile } = await import("node:fs/promises");
  const [nobody, file, ...urls] = process.argv.slice(1);
  process.setgroups([]);
  process.setgid(Number(nobody));
  process.setuid(Number(nobody));
  const read = await readFile(file).then(() => "read", ({ code }) => code);
  const statuses = await Promise.all(urls.map(async (url) => (await fetch(url, { method: "POST", body: "{}" })).status));
  console.log(JSON.stringify([read, ...statuses]));
`;

it("Another user of this machine can neither read the key nor get a response without it", async () => {
  const directory = await mkdtemp(join(tmpdir(), "colophon-user-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  await chmod(directory, 0o755);
  await writeCredentials(directory, key);
  const file = join(directory, "credentials");
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  if (process.getuid?.() !== 0) return;
  const nobody = /^nobody:[^:]*:(\d+)/m.exec(await readFile("/etc/passwd", "utf8"))?.[1] ?? "65534";
  const urls = [
    `${stack.dataApi.url}/Execute`,
    `${stack.s3?.url}/images`,
    `${stack.url}/2015-03-31/functions/ops-issue-refresh-token/invocations`,
  ];

  const flags = ["--input-type=module", "-e", script, nobody, file, ...urls];
  const { stdout } = spawn(process.execPath, flags, { stdio: ["ignore", "pipe", "inherit"], cwd: "/" });

  expect(await json(stdout)).toEqual(["EACCES", 403, 403, 403]);
});

describe("The origins of this machine", () => {
  /** What the preflight allows, and the status of the request and what it allows. */
  async function responsesTo(origin: string) {
    const { id } = await aRole(stack.sql);
    const allowed = "access-control-allow-origin";
    const headers = { Origin: origin };
    const preflight = await send(stack.url, `/admin-roles/edit/${id}`, { method: "OPTIONS", headers });
    const as = (await anAdministrator(stack.sql)).token;
    const change = await stack.call("admin-roles/edit", { as, path: { id }, body: { name: `New ${id}` }, headers });
    return [preflight.headers[allowed] ?? null, change.status, change.headers.get(allowed)];
  }

  it.each([
    "http://localhost:5173",
    "http://localhost",
    "https://localhost:8443",
    "http://127.0.0.1:4200",
    "http://[::1]:8080",
    "https://panel.example.com",
  ])("include %s, in the preflight and in the request itself", async (origin) => {
    expect(await responsesTo(origin)).toEqual([origin, 200, origin]);
  });

  it.each([
    "http://localhost.example.com:5173",
    "http://127.0.0.1.example.com",
    "http://localhost:5173.example.com",
    "http://localhost:",
    "http://127.0.0.2:5173",
    "http://192.0.2.1:5173",
    "https://panel.example.com:5173",
    "null",
  ])("do not include %s, in the preflight and in the request itself", async (origin) => {
    expect(await responsesTo(origin)).toEqual([null, 403, null]);
  });
});

it.each([
  "postgres://user:password@localhost:5432/catalogue",
  "postgres://user@127.0.0.1/catalogue",
  "postgres://user@[::1]:5432/catalogue",
])("An external server is on this machine: %s", (databaseUrl) => {
  expect(isLoopback(databaseUrl)).toBe(true);
});

it.each([
  "postgres://user@db.example.com/localhost",
  "postgres://localhost@10.0.0.5/catalogue",
  "postgres://user@localhost.example.com/catalogue",
  "postgres://user@127.0.0.1.example.com/catalogue",
  "postgres:///catalogue",
])("An external server is not on this machine: %s", (databaseUrl) => {
  expect(isLoopback(databaseUrl)).toBe(false);
});
