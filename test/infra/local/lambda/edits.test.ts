import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { copyProject } from "../../../support/project-copy.ts";
import { type ServiceProcess, startProcess } from "../../../support/service-process.ts";

// Each start is a process, a build and a PostgreSQL; other tests use the machine as well.
vi.setConfig({ testTimeout: 90_000 });
let project: string;
let service: ServiceProcess;

/** `npm start` in a copy of the project, whose files can be edited. */
beforeAll(async () => {
  project = await copyProject();
  service = await startProcess({ project });
});

afterAll(async () => {
  await service.stop();
  await rm(project, { recursive: true });
});

async function edit(file: string, change: (text: string) => string): Promise<void> {
  const path = join(project, file);
  const text = await readFile(path, "utf8");
  service.forget();
  // As most editors do it: the file is another one from then on.
  await writeFile(`${path}~`, change(text));
  await rename(`${path}~`, path);
  await expect.poll(service.output, { timeout: 30_000 }).toContain(`${file} has changed`);
}

async function editForThisTest(file: string, change: (text: string) => string): Promise<void> {
  const original = await readFile(join(project, file), "utf8");
  onTestFinished(() => edit(file, () => original));
  await edit(file, change);
}

async function call(path: string, body?: object) {
  const response = await fetch(`${service.url}${path}`, {
    method: body ? "POST" : "GET",
    headers: { Cookie: "refreshToken=local-administrator", "Content-Type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: JSON.parse(await response.text()) };
}

const nobody = () => call("/contributor/slug/nobody");

it("shows a build error in response and terminal, and works again when the code is corrected", async () => {
  const file = "functions/contributor/slug.ts";
  await edit(file, (text) => `${text}(`);
  service.forget();

  const broken = await nobody();

  expect(broken.status).toBe(500);
  expect(broken.body.message).toContain(file);
  expect(service.output()).toContain(file);

  await edit(file, (text) => text.replace(/\($/, ""));
  expect((await nobody()).status).toBe(404);
});

describe("A save while a function opens after another save", () => {
  /** Longer than a request waits for one environment before it asks for another. */
  const slowly = `\nconsole.log("Opening"); await new Promise((done) => setTimeout(done, 1_500));\n`;
  let roles = 0;
  const addRole = async () => {
    roles += 1;
    const { status } = await call("/admin-roles/add", { name: `Readers ${roles}`, description: "They read" });
    return { status, body: (await call("/admin-roles")).body };
  };

  it.each([
    {
      file: "lib/contract/publishers.ts",
      opening: "functions/publisher/slug.ts",
      texts: ["Publisher not found", "Nobody there", "Nobody here"],
      request: () => call("/publisher/slug/nobody"),
      expected: "Nobody here",
    },
    {
      file: "lib/changes/add-role.sql",
      opening: "functions/ops/migrate.ts",
      texts: ["values (fields.name", "values ('First ' || fields.name", "values ('Second ' || fields.name"],
      request: addRole,
      expected: "Second Readers 2",
    },
  ])(
    "is served: $file",
    async ({ file, opening, texts: [before = "", first = "", second = ""], request, expected }) => {
      await editForThisTest(opening, (text) => `${text}${slowly}`);
      await editForThisTest(file, (text) => text.replace(before, first));
      const waiting = request();
      await expect.poll(service.output).toContain("Opening");
      await edit(file, (text) => text.replace(first, second));

      expect((await waiting).status).toBeLessThan(500);
      expect(JSON.stringify(await request())).toContain(expected);
    },
  );
});

describe("A mistake in SQL is shown with file, line and column", () => {
  it("of a new migration, and the next edit of another file mends it", async () => {
    const file = "lib/migrations/tables/9999-shelves.sql";
    const list = "lib/migrations/tables/all.ts";
    onTestFinished(() => rm(join(project, file)));
    await edit(list, (text) => text.replace(/\n\];/, '\n  "9999-shelves",$&'));
    const text = "-- Where 𝔹ooks stand.\ncreate table shelves (id int);\n\ncreate table 𝔹oards (\n  id bogus\n);\n";
    await writeFile(join(project, file), text);
    await expect.poll(service.output).toContain(`${file} has changed`);

    const { status, body } = await call("/admin-roles");

    const reason = `Migration 9999-shelves failed: ${file}:5:6: ERROR: type "bogus" does not exist; SQLState: 42704`;
    expect([status, body.message]).toEqual([500, `${reason}\n  id bogus\n     ^`]);
    await edit(list, (text) => text.replace('\n  "9999-shelves",', ""));
    expect((await call("/admin-roles")).status).toBe(200);
  });

  it("of a database function, in response and terminal", async () => {
    const file = "lib/changes/add-role.sql";
    await edit(file, (text) => text.replace("insert into", "insert onto"));
    const lines = (await readFile(join(project, file), "utf8")).split("\n");
    const index = lines.findIndex((line) => line.includes("insert onto"));
    const column = lines[index]?.indexOf("onto") ?? 0;
    const message = `${file}:${index + 1}:${column + 1}: ERROR: syntax error`;

    const response = await call("/admin-roles");

    expect([response.status, response.body.message]).toEqual([
      500,
      `${message} at or near "onto"; SQLState: 42601\n${lines[index]}\n${" ".repeat(column)}^`,
    ]);
    expect(service.output()).toContain(message);
  });
});
