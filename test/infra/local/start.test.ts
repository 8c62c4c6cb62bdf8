import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { freePort } from "../../../infra/aws-local/http/free-port.ts";
import { send } from "../../../infra/aws-local/test/send.ts";

// Each start is a process, a build and a PostgreSQL; other tests use the machine as well.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 });
const root = join(import.meta.dirname, "../../..");
const running: ChildProcessWithoutNullStreams[] = [];
let data: string;
let port: number;

beforeAll(async () => {
  data = join(await mkdtemp(join(tmpdir(), "colophon-start-")), "data");
  port = await freePort();
});

afterAll(async () => {
  for (const child of running) child.kill("SIGKILL");
  while (existsSync(join(data, "postgres/postmaster.pid"))) await sleep(50);
  await rm(join(data, ".."), { recursive: true });
});

/** `npm start` with these flags. */
function run(...flags: string[]): ChildProcessWithoutNullStreams {
  const child = spawn(process.execPath, [join(root, "infra/local/start.ts"), ...flags]);
  running.push(child);
  return child;
}

/** What it prints until it returns. */
async function untilUp(child: ChildProcessWithoutNullStreams): Promise<string> {
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  await expect.poll(() => output, { timeout: 90_000 }).toContain("Try:");
  return output;
}

async function outcomeOf(child: ChildProcessWithoutNullStreams) {
  const [complaint, [code]] = await Promise.all([text(child.stderr), once(child, "exit")]);
  return { complaint, code };
}

const call = (path: string, init: RequestInit = {}, as = "local-administrator") =>
  fetch(`http://localhost:${port}${path}`, {
    ...init,
    headers: { Cookie: `refreshToken=${as}`, "Content-Type": "application/json" },
  });

describe("npm start", () => {
  const flags = () => ["--port", String(port), "--data", data];

  it("serves the demo data, and prints requests to try", async () => {
    const output = await untilUp(run(...flags(), "--origin", "http://panel.test:4300"));

    const urls = [...output.matchAll(/curl .*'(http\S+)'/g)].map(([, url]) => new URL(url ?? ""));
    expect(urls).toHaveLength(3);
    expect(output).toMatch(/local-administrator.*local-editor.*local-reader/s);
    for (const { pathname, search } of urls) expect((await call(pathname + search)).status, pathname).toBe(200);
  });

  it("fails when the port is taken, also the debugger's, and does not disturb the other service", async () => {
    const complaints = [run(...flags()), run(`--inspect=${port}`)].map(outcomeOf);

    const [other, debug] = await Promise.all(complaints);
    expect(other).toEqual({ complaint: `Port ${port} is taken; try npm start -- --port ${port + 1}\n`, code: 1 });
    expect(debug?.complaint).toContain(`Port ${port} is taken; try npm start -- --inspect=${port + 1}\n`);
    expect((await call("/admin-roles")).status).toBe(200);
  });

  it("says which origin it refuses, and what would allow it", async () => {
    const child = running.at(0);
    let output = "";
    child?.stdout.on("data", (chunk) => {
      output += chunk;
    });
    const preflight = async (path: string, Origin: string) => {
      const headers = { Origin, "Access-Control-Request-Method": "POST" };
      const { headers: result } = await send(`http://127.0.0.1:${port}`, path, { method: "OPTIONS", headers });
      return result["access-control-allow-origin"];
    };

    const refused = "http://panel.test:4200";
    expect(await preflight("/admin-roles/add", refused)).toBeUndefined();
    expect(await preflight("/admin-roles/add", refused)).toBeUndefined();
    expect(await preflight("/admin-roles/add", "null")).toBeUndefined();
    for (const allowed of ["http://panel.test:4300", "http://localhost:4200", "http://localhost"])
      expect(await preflight("/admin-roles/add", allowed)).toBe(allowed);
    expect(await preflight("/publishers", "http://panel.test:4400")).toBe("*");

    await expect
      .poll(() => output)
      .toContain("Refused a page of the origin null: only a page with an origin of its own");
    await call("/publishers");
    // The output is no terminal.
    await expect.poll(() => output).toMatch(/^\{"level":"info",.*"path":"\/publishers","status":200.*\}$/m);
    expect(output.split("\n").filter((line) => line.includes("http://"))).toEqual([
      `Refused a page of the origin ${refused}: npm start -- --origin ${refused} ` +
        '(on AWS "allowedOrigins" in infra/stages.ts) would allow it',
    ]);
  });

  it("has all changes that were answered with 200 after it was killed and started again", async () => {
    const added = await call("/admin-permissions/add", {
      method: "POST",
      body: JSON.stringify({ name: "kept", description: "Survives" }),
    });
    const loggedOut = await call("/admin-users/logout/2", { method: "POST" });
    const [killed] = running.splice(0);
    killed?.kill("SIGKILL");
    if (killed) await once(killed, "exit");

    const output = await untilUp(run(...flags()));

    expect([added.status, loggedOut.status]).toEqual([200, 200]);
    expect(output).not.toContain("Demo data");
    expect(JSON.stringify(await (await call("/admin-permissions")).json())).toContain('"kept"');
    expect(output.match(/^.* works again.*$/gm)).toEqual(["local-editor works again: its session had been ended"]);
    expect(output).toMatch(/local-administrator .*local-editor .*local-reader /s);
    expect((await call("/admin-contributors?client=1", {}, "local-editor")).status).toBe(200);
  });

  it("stops on SIGTERM, and runs the build that all services of this code run", async () => {
    const [child] = running.splice(-1);
    child?.kill("SIGTERM");

    expect(child && (await once(child, "exit"))).toEqual([0, null]);
    expect(existsSync(join(data, "postgres/postmaster.pid"))).toBe(false);
    expect(await readdir(join(root, "node_modules/.cache/colophon"))).not.toContain(String(port));
  });

  it.each([
    [["--prot", "1"], "Unknown flag --prot; did you mean --port?"],
    [
      ["--database", "postgres://user:secret@localhost/name"],
      "--database takes no password, which others would see: give the URL in COLOPHON_DATABASE_URL",
    ],
    [["--inspect", "9230"], "Unexpected argument 9230"],
    [["--database", "localhost"], "--database takes a URL like postgres://user@host/name\n"],
    [
      ["--origin", "http://localhost:4200/"],
      "--origin takes an origin as browsers write it, like http://localhost:4200",
    ],
  ])("explains itself to those who mistype: %s", async (mistyped, reason) => {
    const { complaint, code } = await outcomeOf(run(...mistyped));

    expect(code).toBe(1);
    expect(complaint).toContain(reason);
    expect(complaint).toContain("npm start -- [--port N]");
  });
});
