import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { copyProject } from "../../support/project-copy.ts";
import { type ServiceProcess, startProcess } from "../../support/service-process.ts";

let project: string;
let service: ServiceProcess | undefined;

beforeAll(async () => {
  project = await copyProject();
});

afterAll(async () => {
  await service?.stop();
  await rm(project, { recursive: true });
});

/** Runs a program of the copy. */
const run = async (file: string, ...words: string[]) =>
  (await promisify(execFile)(process.execPath, [join(project, file), ...words], { cwd: project })).stdout;

/** `npm run new` with these words. Returns the files that it has written or extended. */
async function copy(words: string): Promise<string[]> {
  const [files = ""] = (await run("infra/endpoint/new.ts", ...words.split(" "))).split("\n\n");
  return files.split("\n").sort();
}

async function ask(method: string, path: string, body?: object) {
  const response = await fetch(`${service?.url}${path}`, {
    method,
    headers: { Cookie: "refreshToken=local-administrator", "Content-Type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: JSON.parse(await response.text()) };
}

describe("npm run new", () => {
  it("copies the files of an endpoint, with names of their own", async () => {
    expect(await copy("GET /contributor/alias/{slug} --like contributor/slug")).toEqual([
      "events/contributor/alias.json",
      "functions/contributor/alias.ts",
      "lib/contract/contributors.ts",
      "lib/queries/contributors.ts",
      "lib/queries/statements/contributor/alias.sql",
      "test/functions/contributor/alias.test.ts",
    ]);
    await copy("GET /publishers/newest/first --like publishers/list");
    await copy("GET /admin-roles/find --like admin-permissions/list");
    expect(await copy("POST /admin-roles/praise/{id} --like admin-roles/edit")).toEqual([
      "events/admin-roles/praise.json",
      "functions/admin-roles/praise.ts",
      "lib/changes/all.ts",
      "lib/changes/praise-role.sql",
      "lib/contract/admin-roles.ts",
      "lib/queries/statements/admin-roles/praise.sql",
      "test/functions/admin-roles/praise.test.ts",
    ]);
    await copy("POST /admin-permissions/invent --like admin-permissions/add");
    await copy("DELETE /admin-permissions/forget/{id} --like admin-permissions/delete");
  });

  it("leaves nothing for the check to find", async () => {
    await run("node_modules/@biomejs/biome/bin/biome", "check", "--vcs-enabled=false", "--error-on-warnings");
    await run("infra/check/sql.ts");
    await run("infra/api/generate.ts");
    await run("infra/endpoint/complete.ts");
    await run("infra/check/database.ts");
    await run("node_modules/typescript/bin/tsc", "--noEmit");
  }, 180_000);

  it("makes endpoints that answer as their siblings do", async () => {
    service = await startProcess({ project });

    const alias = await ask("GET", "/contributor/alias/naoki-urasawa");
    expect(alias).toEqual(await ask("GET", "/contributor/slug/naoki-urasawa"));
    expect(alias.body).toMatchObject({ last_name: "Urasawa" });
    expect((await ask("GET", "/publishers/newest/first?limit=2")).body.publishers).toHaveLength(2);
    expect(await ask("GET", "/admin-roles/find")).toEqual(await ask("GET", "/admin-permissions"));
    const permission = { name: "invented", description: "By a copy" };
    expect((await ask("POST", "/admin-permissions/invent", permission)).status).toBe(200);
    const { id } = (await ask("GET", "/admin-roles/find")).body.at(-1);
    expect((await ask("DELETE", `/admin-permissions/forget/${id}`)).status).toBe(200);
    expect((await ask("GET", `/admin-permissions/id/${id}`)).status).toBe(404);
    expect((await ask("POST", "/admin-roles/praise/4", { name: "Best" })).body).toEqual({
      data: "Role updated",
      code: 200,
    });
    expect((await ask("GET", "/admin-roles/id/4")).body).toMatchObject({ name: "Best" });
  });

  it.each([
    ["publishers/all is no path", "GET publishers/all --like publishers/list"],
    ["There is no functions/publishers/map.ts", "GET /publishers/all --like publishers/map"],
    ["publishers/list is a GET, not a POST", "POST /publishers/all --like publishers/list"],
    ["The path of publisher/slug has {slug}", "GET /publishers/one/{id} --like publisher/slug"],
    ["There is functions/publishers/list.ts already", "GET /publishers/list --like publishers/list"],
    ["GET /publishers exists already, as publishers/list", "GET /publishers --like publisher/random"],
    ["GET /admin-roles/{id} exists already, as admin-roles/list", "GET /admin-roles/{id} --like admin-roles/id"],
    ["GET /publisher/slug exists already, as publisher/slug", "GET /publisher/slug --like publisher/random"],
    ["--like is missing", "GET /publishers/all"],
  ])("refuses what cannot be copied: %s", async (reason, words) => {
    await expect(copy(words)).rejects.toThrow(reason);
  });
});
