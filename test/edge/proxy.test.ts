import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createClient } from "../../lib/client/index.js";
import { useAdministrator } from "../support/callers.ts";
import { aContributor } from "../support/catalogue.ts";
import { panelOrigin } from "../support/environment.ts";
import { useStack } from "../support/stack.ts";
import { send } from "./shared-cache.ts";

/* The proxy of lib/client/on-aws.md between a panel and the stage, which compresses. */

const nginx = "/usr/sbin/nginx";
/** Without nginx these tests are skipped, unless the environment requires them. */
const hasProxy = existsSync(nginx) || process.env.COLOPHON_EDGE === "required";

const stack = useStack();
const administrator = useAdministrator(stack);
let directory: string;
let server: ReturnType<typeof spawn>;

beforeAll(async () => {
  if (!hasProxy) return;
  directory = await mkdtemp(join(tmpdir(), "colophon-proxy-"));
  const page = await readFile(join(import.meta.dirname, "../../lib/client/on-aws.md"), "utf8");
  const [, location = ""] = /^```nginx\n(.*?)^```$/ms.exec(page) ?? [];
  expect(location).toContain("https://api.example.com/");
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((each) => `${each}_temp_path ${each};`);
  const configuration = `
    ${process.getuid?.() === 0 ? "user root;" : ""}
    daemon off;
    pid nginx.pid;
    events {}
    http {
      access_log off;
      ${paths.join(" ")}
      server {
        listen unix:${directory}/socket;
        ${location.replace("https://api.example.com/", `${stack.url}/`)}
      }
    }
  `;
  await writeFile(join(directory, "nginx.conf"), configuration);
  server = spawn(nginx, ["-p", directory, "-c", "nginx.conf", "-e", "stderr"], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  await vi.waitUntil(() => server.exitCode !== null || existsSync(join(directory, "socket")), { timeout: 30_000 });
  expect(server.exitCode).toBeNull();
});

afterAll(async () => {
  server?.kill();
  if (directory) await rm(directory, { recursive: true });
});

/** As the browser of a signed-in user sends it to the panel's own host. */
async function fetchThroughProxy(url: string, init: RequestInit): Promise<Response> {
  const { pathname, search } = new URL(url);
  const headers = {
    ...Object.fromEntries(new Headers(init.headers)),
    cookie: `refreshToken=${administrator.token}`,
    origin: panelOrigin,
    "accept-encoding": "gzip",
  };
  const options = { method: `${init.method}`, headers, body: init.body as string | undefined };
  const response = await send(undefined, join(directory, "socket"), pathname + search, options);
  const shown = Object.entries(response.headers).map(([name, value]): [string, string] => [name, `${value}`]);
  return new Response(response.text, { status: response.status, headers: shown });
}

describe.skipIf(!hasProxy)("A panel behind nginx that compresses", () => {
  const colophon = createClient("http://admin.example.com/api", { fetch: fetchThroughProxy });
  const include = "type,public";

  it("saves a contributor from the weak version that it has read", async () => {
    const { id } = await aContributor(stack.sql);
    const opened = await colophon.GET("/admin-contributors/id/{id}", { path: { id }, query: { include } });
    if (opened.error) throw new Error(opened.error.data);
    expect(opened.version).toBe('W/"1"');

    expect(await colophon.editContributor(opened, { gender: "female" })).toEqual({ status: "saved" });
    expect(await colophon.editContributor(opened, { gender: "male" })).toMatchObject({ status: "conflict" });
  });

  it("finds a new record at its path behind the prefix", async () => {
    const body = { first_name: `Name ${crypto.randomUUID()}` };

    const added = await colophon.POST("/admin-contributors/add", { body });

    const location = new URL(`${added.response.headers.get("Location")}`, "http://admin.example.com");
    expect(location.pathname).toBe(`/api/admin-contributors/id/${added.created}`);
  });
});
