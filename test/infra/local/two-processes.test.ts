import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { freePort } from "../../../infra/local/postgres/server.ts";

// Each start is a process, a build and a PostgreSQL; other tests use the machine as well.
vi.setConfig({ testTimeout: 90_000 });
const root = join(import.meta.dirname, "../../..");
const database = `shared_${process.pid}`;
const children: ChildProcess[] = [];
const urls: string[] = [];
let data: string;

/** `npm start` on a port of its own. */
async function start(): Promise<string> {
  const port = await freePort();
  const flags = ["--port", `${port}`, "--data", join(data, `${port}`), "--no-uploads"];
  const env = { ...process.env, COLOPHON_DATABASE_URL: `${inject("databaseUrl")}/${database}` };
  const child = spawn(process.execPath, [join(root, "infra/local/start.ts"), ...flags], { env });
  children.push(child);
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  await vi.waitUntil(() => output.includes("Try:"), { timeout: 90_000, interval: 100 });
  return `http://localhost:${port}`;
}

beforeAll(async () => {
  data = await mkdtemp(join(tmpdir(), "colophon-two-"));
  urls.push(await start(), await start());
});

afterAll(async () => {
  for (const child of children) {
    child.kill("SIGTERM");
    await once(child, "exit");
  }
  const admin = postgres(`${inject("databaseUrl")}/postgres`, { max: 1 });
  await admin`drop database if exists ${admin(database)} with (force)`;
  await admin.end();
  await rm(data, { recursive: true });
  for (const url of urls) await rm(join(root, "node_modules/.cache/colophon", new URL(url).port), { recursive: true });
});

const add = (url: string | undefined, first_name: string) =>
  fetch(`${url}/admin-contributors/add`, {
    method: "POST",
    headers: { Cookie: "refreshToken=local-administrator", "Content-Type": "application/json" },
    body: JSON.stringify({ first_name }),
  });

describe("Two processes on one database", () => {
  it("see each other's writes at once, and agree on their order", async () => {
    const names = Array.from({ length: 10 }, (_, number) => `Shared ${number}`);

    const replies = await Promise.all(names.flatMap((name) => urls.map((url) => add(url, name))));

    const statuses = replies.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(names.length);
    expect(statuses.filter((status) => status === 409)).toHaveLength(names.length);
    const headers = { Cookie: "refreshToken=local-administrator" };
    const lists = await Promise.all(
      urls.map(async (url) => (await fetch(`${url}/admin-contributors?client=1&search=shared`, { headers })).json()),
    );
    expect(lists[0]).toEqual(lists[1]);
    expect(lists[0]).toMatchObject({ max: names.length });
  });

  it("show no password among the processes", async () => {
    const { password } = new URL(inject("databaseUrl"));
    const { stdout } = await promisify(execFile)("ps", ["-Ao", "pid=,ppid=,args="]);
    const family = stdout.split("\n").filter((line) => new RegExp(`\\b${children[1]?.pid}\\b`).test(line));

    expect(family.length).toBeGreaterThan(0);
    expect(family.filter((line) => line.includes(password))).toEqual([]);
  });
});
