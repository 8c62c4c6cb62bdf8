import { execFile } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type NewEndpoint, writeEndpoint } from "../../../infra/endpoint/new.ts";
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

/** `npm run new` with these words. Returns the files that it has written. */
async function generate(...words: string[]): Promise<string[]> {
  const [files = ""] = (await run("infra/endpoint/new.ts", ...words)).split("\n\n");
  return files.split("\n");
}

/** Decides what the generator leaves open: what stands in a file for each of its `FILL_IN`s, one after another. */
async function fillIn(file: string, ...decisions: string[]): Promise<void> {
  const rest = [...decisions];
  const text = await readFile(join(project, file), "utf8");
  await writeFile(
    join(project, file),
    text.replace(/\$\{FILL_IN\}|FILL_IN/g, () => rest.shift() ?? "FILL_IN"),
  );
  expect(rest, file).toEqual([]);
}

const anything = "expect.anything()";
const fields = "id, name, description";

async function addRecord(): Promise<void> {
  await generate("GET", "/admin-permissions/newest", "--permission", "view-permissions");
  await fillIn("lib/contract/admin-permissions.ts", '"Shows the newest permission"', '"Permission"', "missing");
  await fillIn("lib/queries/permissions.ts", '"Permission"', fields, "permissions order by id desc limit 1");
  await fillIn("test/functions/admin-permissions/newest.test.ts", anything);
}

async function addPublicRecord(): Promise<void> {
  await generate("GET", "/publishers/first-one");
  await fillIn("lib/contract/publishers.ts", '"Shows the first publisher"', '"Permission"', '"None"');
  const columns = "id, name, slug as description from publishers order by id limit 1";
  await fillIn("lib/queries/publishers.ts", '"Permission"', columns);
  await fillIn("test/functions/publishers/first-one.test.ts", anything);
}

async function addList(): Promise<void> {
  await generate("GET", "/admin-permissions/of-role/{id}", "--permission", "view-roles", "--list");
  await fillIn("lib/contract/admin-permissions.ts", '"Lists the permissions of a role"', "textId", '"Permission"');
  const granted = "permissions join role_permissions on permission_id = id";
  await fillIn(
    "lib/queries/permissions.ts",
    ...["Id", '"Permission"', `${granted} and role_id = \${id}::bigint`, fields],
    `(select permissions.* from ${granted} and role_id = \${id}::bigint) as permissions`,
  );
  await fillIn("events/admin-permissions/of-role.json", "1", "1");
  await fillIn("test/functions/admin-permissions/of-role.test.ts", "{ id: 1 }", anything);
}

async function addEdit(): Promise<string[]> {
  const files = await generate("POST", "/admin-roles/praise/{id}", "--permission", "edit-roles");
  await fillIn("lib/contract/admin-roles.ts", '"Praises a role"', "textId", "name", '"Role praised"', "missing");
  await fillIn(
    "lib/changes/praise-role.sql",
    "update roles set description = request.input ->> 'name' where id = request.target",
  );
  await fillIn("events/admin-roles/praise.json", "4", "4", `{\\"name\\": \\"Best\\"}`);
  await fillIn("test/functions/admin-roles/praise.test.ts", "{ id: 4 }", '{ name: "Best" }', anything);
  return files;
}

async function addAddition(): Promise<void> {
  await generate("POST", "/admin-roles/invent", "--permission", "add-roles");
  await fillIn("lib/contract/admin-roles.ts", '"Invents a role"', "name", '"Role invented"');
  await fillIn(
    "lib/changes/invent-role.sql",
    "insert into roles (name) values (request.input ->> 'name') returning id into added",
  );
  await fillIn("events/admin-roles/invent.json", `{\\"name\\": \\"Inventor\\"}`);
  await fillIn("test/functions/admin-roles/invent.test.ts", '{ name: "Inventor" }', anything);
}

async function addDeletion(): Promise<void> {
  await generate("DELETE", "/admin-roles/forget/{id}", "--permission", "delete-roles");
  await fillIn("lib/contract/admin-roles.ts", '"Forgets a role"', "textId", '"Role forgotten"', "missing");
  await fillIn("lib/changes/forget-role.sql", "delete from roles where id = request.target");
  await fillIn("events/admin-roles/forget.json", "4", "4");
  await fillIn("test/functions/admin-roles/forget.test.ts", "{ id: 4 }", anything);
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
  it("writes endpoints that pass the check once they are filled in", async () => {
    const files = await addEdit();
    expect(files).toEqual([
      "functions/admin-roles/praise.ts",
      "events/admin-roles/praise.json",
      "test/functions/admin-roles/praise.test.ts",
      "lib/contract/admin-roles.ts",
      "lib/changes/praise-role.sql",
      "lib/changes/all.ts",
    ]);
    for (const add of [addRecord, addPublicRecord, addList, addAddition, addDeletion]) await add();

    // As npm run format, npm run openapi and npm run check do.
    await run(
      "node_modules/@biomejs/biome/bin/biome",
      "check",
      "--write",
      "--vcs-enabled=false",
      "--error-on-warnings",
    );
    await run("infra/client-types/generate.ts");
    await run("infra/endpoint/complete.ts");
    await run("node_modules/typescript/bin/tsc", "--noEmit");
  });

  it("writes endpoints that answer", async () => {
    service = await startProcess({ project });

    expect(await ask("GET", "/admin-permissions/newest")).toMatchObject({ status: 200, body: { id: 15 } });
    expect(await ask("GET", "/publishers/first-one")).toMatchObject({ status: 200, body: { id: 1 } });
    const { permissions } = (await ask("GET", "/admin-roles/id/4")).body;
    expect(permissions.length).toBeGreaterThan(1);
    expect(await ask("GET", "/admin-permissions/of-role/4")).toEqual({ status: 200, body: permissions });
    expect(await ask("POST", "/admin-roles/praise/4", { name: "Best" })).toEqual({
      status: 200,
      body: { data: "Role praised", code: 200 },
    });
    expect((await ask("GET", "/admin-roles/id/4")).body).toMatchObject({ description: "Best" });
    expect((await ask("POST", "/admin-roles/praise/987654", { name: "Best" })).status).toBe(404);
    expect((await ask("POST", "/admin-roles/invent", { name: "Inventor" })).status).toBe(200);
    expect(JSON.stringify(await ask("GET", "/admin-roles"))).toContain('"Inventor"');
    expect((await ask("DELETE", "/admin-roles/forget/4")).status).toBe(200);
    expect((await ask("GET", "/admin-roles/id/4")).status).toBe(404);
  });

  it.each<[string, NewEndpoint]>([
    ["PUT /publishers is no", { method: "PUT", path: "/publishers" }],
    ["GET publishers is no", { method: "GET", path: "publishers" }],
    ["A change needs a --permission", { method: "POST", path: "/admin-users/close/{id}" }],
    ["GET /publishers is declared already", { method: "GET", path: "/publishers" }],
    ["No endpoint begins with /series", { method: "GET", path: "/series" }],
  ])("refuses what cannot be an endpoint: %s", async (reason, endpoint) => {
    await expect(writeEndpoint(project, endpoint)).rejects.toThrow(reason);
  });
});
