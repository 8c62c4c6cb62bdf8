import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { freePort } from "../../../infra/aws-local/http/free-port.ts";
import { send } from "../../../infra/aws-local/test/send.ts";
import { runScript } from "../../support/script.ts";
import { type ServiceProcess, startProcess } from "../../support/service-process.ts";

// Each start is a process, a build and a PostgreSQL; other tests use the machine as well.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 });
let service: ServiceProcess;
/** Of all starts. */
let where: { readonly port: number; readonly directory: string; readonly uploads: boolean };

beforeAll(async () => {
  const directory = join(await mkdtemp(join(tmpdir(), "colophon-start-")), "data");
  where = { port: await freePort(), directory, uploads: true };
});

afterAll(async () => {
  await service.stop();
  await rm(join(where.directory, ".."), { recursive: true });
});

const start = (...words: string[]) => runScript("infra/local/start.ts", words);

const call = (path: string, init: RequestInit = {}, as = "local-administrator") =>
  fetch(`${service.url}${path}`, {
    ...init,
    headers: { Cookie: `refreshToken=${as}`, "Content-Type": "application/json" },
  });

describe("npm start", () => {
  it("serves the demo data, and prints requests to try", async () => {
    service = await startProcess({ ...where, flags: ["--origin", "http://panel.test:4300"] });
    const output = service.output();

    const urls = [...output.matchAll(/curl .*'(http\S+)'/g)].map(([, url]) => new URL(url ?? ""));
    expect(urls).toHaveLength(3);
    expect(output).toMatch(/local-administrator.*local-editor.*local-reader/s);
    expect(output).toContain(`npm run invoke -- NAME --url ${service.url} --data '${where.directory}'`);
    for (const { pathname, search } of urls) expect((await call(pathname + search)).status, pathname).toBe(200);
  });

  it("fails when the port is taken, and does not disturb the other service", async () => {
    const { port, directory } = where;

    const { code, complaint } = await start("--port", `${port}`, "--data", directory);

    expect([code, complaint]).toEqual([1, `Port ${port} is taken; try npm start -- --port ${port + 1}\n`]);
    expect((await call("/admin-roles")).status).toBe(200);
  });

  it("fails when the debugger's port is taken", async () => {
    const { complaint } = await start(`--inspect=${where.port}`);

    expect(complaint).toContain(`Port ${where.port} is taken; try npm start -- --inspect=${where.port + 1}\n`);
  });

  it("says which origin it refuses, and what would allow it", async () => {
    service.forget();
    const preflight = async (path: string, Origin: string) => {
      const headers = { Origin, "Access-Control-Request-Method": "POST" };
      const { headers: result } = await send(service.url, path, { method: "OPTIONS", headers });
      return result["access-control-allow-origin"];
    };

    const refused = "http://panel.test:4200";
    expect(await preflight("/admin-roles/add", refused)).toBeUndefined();
    expect(await preflight("/admin-roles/add", refused)).toBeUndefined();
    expect(await preflight("/admin-roles/add", "null")).toBeUndefined();
    for (const allowed of ["http://panel.test:4300", "http://localhost:4200", "http://localhost"])
      expect(await preflight("/admin-roles/add", allowed)).toBe(allowed);
    expect(await preflight("/publishers", "http://panel.test:4400")).toBe("*");
    // No setting is about other pages of this machine.
    await send(service.url, "/docs/openapi.json", { headers: { Origin: "http://panel.test:4500" } });

    const ofNull = "Refused a page of the origin null: only a page with an origin of its own";
    await expect.poll(service.output).toContain(ofNull);
    await call("/publishers");
    // The output is no terminal.
    await expect.poll(service.output).toMatch(/^\{"level":"info",.*"path":"\/publishers","status":200.*\}$/m);
    const lines = service.output().split("\n");
    expect(lines.filter((line) => line.includes("http://"))).toEqual([
      `Refused a page of the origin ${refused}: npm start -- --origin ${refused} ` +
        '(on AWS "allowedOrigins" in infra/stages.ts) would allow it',
    ]);
  });

  it("has all changes that were answered with 200 after it was killed and started again", async () => {
    const body = JSON.stringify({ name: "kept", description: "Survives" });
    const added = await call("/admin-permissions/add", { method: "POST", body });
    const loggedOut = await call("/admin-users/logout/2", { method: "POST" });
    process.kill(service.pid ?? 0, "SIGKILL");
    await service.ended;

    service = await startProcess(where);
    const output = service.output();

    expect([added.status, loggedOut.status]).toEqual([200, 200]);
    expect(output).not.toContain("Demo data");
    expect(JSON.stringify(await (await call("/admin-permissions")).json())).toContain('"kept"');
    expect(output.match(/^.* works again.*$/gm)).toEqual(["local-editor works again: its session had been ended"]);
    expect(output).toMatch(/local-administrator .*local-editor .*local-reader /s);
    expect((await call("/admin-contributors?client=1", {}, "local-editor")).status).toBe(200);
  });

  it("names another way where the data cannot be", async () => {
    const { code, complaint } = await start("--port", `${await freePort()}`, "--data", "package.json/data");

    const sentence = /^package.json\/data is not in a directory. Name another directory .*: npm start -- --data DIR\n$/;
    expect([code, complaint]).toEqual([1, expect.stringMatching(sentence)]);
  });

  it("stops on SIGTERM", async () => {
    process.kill(service.pid ?? 0, "SIGTERM");

    expect(await service.ended).toBe(0);
    expect(existsSync(join(where.directory, "postgres/postmaster.pid"))).toBe(false);
  });

  it.each([
    {
      mistyped: ["--database", "postgres://user:secret@localhost/name"],
      reason: "--database takes no password, which others would see:",
    },
    { mistyped: ["9230"], reason: "error: too many arguments. Expected 0 arguments but got 1: 9230." },
    { mistyped: ["--database", "localhost"], reason: "--database takes a URL like postgres://user@host/name\n" },
    {
      mistyped: ["--origin", "http://localhost:4200/"],
      reason: "--origin takes an origin as browsers write it, like http://localhost:",
    },
  ])("explains itself to those who mistype: $mistyped", async ({ mistyped, reason }) => {
    const { complaint, code } = await start(...mistyped);

    expect([code, complaint]).toEqual([1, expect.stringContaining("Usage: npm start -- [options]")]);
    expect(complaint).toContain(reason);
  });
});
