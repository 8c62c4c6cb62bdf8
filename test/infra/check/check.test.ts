import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { copyProject } from "../../support/project-copy.ts";
import { runProgram, runScript } from "../../support/script.ts";

// A run is a build, a PostgreSQL and all functions; other tests use the machine as well.
vi.setConfig({ testTimeout: 240_000 });
let project: string;
const biome = join(import.meta.dirname, "../../../node_modules/.bin/biome");

/** Parts that read a file each, and fail if it says so. */
const program = `
  import { checkAll } from "./infra/check/check.ts";
  import { newCommand, runCommand } from "./infra/command/command.ts";
  const part = (file) => ({ command: ["part.ts", file], inputs: [file, "package.json"], seconds: 60 });
  const impatient = { ...part("b.json"), seconds: process.argv.length > 2 ? 0.1 : 60 };
  process.argv.length = 2;
  await runCommand(newCommand("npm run check").action(() => checkAll({ "first part": part("a.json"), second: impatient })));
`;
const part = `
  import { readFileSync } from "node:fs";
  const text = readFileSync(process.argv[2], "utf8");
  if (text === "bad") throw new Error("It is bad");
  if (text === "slow") setInterval(() => {}, 1_000);
`;

beforeAll(async () => {
  project = await copyProject();
  await writeFile(join(project, "program.ts"), program);
  await writeFile(join(project, "part.ts"), part);
});

afterAll(() => rm(project, { recursive: true }));

/** Replaces a text in a file of the copy for this test. Returns where it stands: file, line and column. */
async function edit(file: string, from: string, to: string): Promise<string> {
  const path = join(project, file);
  const text = await readFile(path, "utf8");
  onTestFinished(() => writeFile(path, text));
  await writeFile(path, text.replace(from, to));
  const lines = text.slice(0, text.indexOf(from)).split("\n");
  return `${file}:${lines.length}:${(lines.at(-1)?.length ?? 0) + 1}`;
}

/** What it prints with these files, with the same number for all seconds. */
async function check(first: string, second: string, words: readonly string[] = []) {
  await writeFile(join(project, "a.json"), first);
  await writeFile(join(project, "b.json"), second);
  const { output, ...rest } = await runScript(join(project, "program.ts"), words, { cwd: project });
  const lines = output.trimEnd().split("\n");
  return { ...rest, output: lines.map((line) => line.replace(/[\d.]+ s$/, "1.0 s")).sort() };
}

describe("npm run check", () => {
  it("prints a line for each part and a last one, and does not run again what passed with the same files", async () => {
    const fine = (first: string, second: string) => ({
      code: 0,
      output: ["All is well, after 1.0 s", `first part          ${first}`, `second              ${second}`],
      complaint: "",
    });

    expect(await check("good", "good")).toEqual(fine("1.0 s", "1.0 s"));
    expect(await check("good", "good")).toEqual(fine("unchanged", "unchanged"));
    expect(await check("good", "better")).toEqual(fine("unchanged", "1.0 s"));
  });

  it("shows what a part finds, each time until it passes", async () => {
    for (const _ of ["once", "again"]) {
      const { code, output, complaint } = await check("good", "bad");
      expect({ code, complaint }).toEqual({ code: 1, complaint: "Check failed: second\n" });
      expect(output).toContain("second              failed after 1.0 s");
      expect(output).toContain("Error: It is bad");
    }

    expect(await check("good", "best")).toMatchObject({ code: 0, complaint: "" });
  });

  it("stops a part that takes forty times as long as on a quiet machine, and prints its limit", async () => {
    const { output, complaint } = await check("good", "slow", ["impatient"]);

    expect(complaint).toBe("Check failed: second\n");
    expect(output.join("\n")).toMatch(/^second {14}was stopped by its limit of 4 s, which/m);
  });

  it.each([
    {
      what: "an import from infra in lib",
      file: "lib/http/mistake.ts",
      text: 'import "../../infra/command/print.ts";',
      message: "lib imports from lib alone: move what both need into lib",
    },
    {
      what: "an import from infra in a function",
      file: "functions/publisher/mistake.ts",
      text: 'import "../../infra/command/print.ts";',
      message: "functions import from lib alone",
    },
    {
      what: "an import from lib in infra/aws-local",
      file: "infra/aws-local/s3/mistake.ts",
      text: 'import "../../../lib/contract/endpoints.ts";',
      message: "infra/aws-local imports from itself alone",
    },
    {
      what: "a test with a fixed port",
      file: "test/functions/mistake.test.ts",
      text: "createServer().listen(3000);",
      message: "A fixed port may be in use: listen to port 0",
    },
  ])("finds $what", async ({ file, text, message }) => {
    const mistake = join(project, file);
    await writeFile(mistake, text);
    onTestFinished(() => rm(mistake));

    const { code, complaint } = await runProgram(biome, ["lint", file], { cwd: project });

    expect(code).toBe(1);
    expect(complaint).toContain(message);
  });

  it("finds a file of changes that no release would have, and an outdated list of changes in SQL", async () => {
    const forgotten = join(project, "lib/changes/forgotten.sql");
    await writeFile(forgotten, "select 1;\n");
    onTestFinished(() => rm(forgotten));
    await edit("lib/changes/all.ts", '"edit-roles"', '"view-roles"');

    const { code, complaint } = await runScript(join(project, "infra/check/sql.ts"), [], { cwd: project });

    expect({ code, complaint }).toEqual({
      code: 1,
      complaint:
        "lib/changes/forgotten.sql is not listed in lib/changes/all.ts\n" +
        "lib/changes/each-change.sql is out of date: npm run statements\n",
    });
  });

  it("finds names that do not exist, parameters of wrong types, what has no history, JSON with blanks and outdated statements", async () => {
    const inChange = await edit("lib/changes/edit-role.sql", "permission_id) select", "permision_id) select");
    const afterInto = await edit("lib/changes/link-identity.sql", "username) = identity", "usename) = identity");
    const inDeclaration = await edit("lib/changes/edit-user.sql", "request.target", "request.targett");
    const inQuery = await edit("lib/queries/permissions.ts", "description`)} as body", "descripton`)} as body");
    const inFragment = await edit("lib/queries/fragments/lists.ts", "scope in", "scop in");
    const inType = await edit(
      "lib/queries/users.ts",
      "= _{id}::bigint and".replace("_", "$"),
      "= _{id}::text and".replace("_", "$"),
    );
    const withBlanks = "(select json_agg(json_build_object('id', id)) from permissions) as";
    await edit("lib/queries/roles.ts", "_{permissions} as".replace("_", "$"), withBlanks);

    await edit(
      "lib/migrations/tables/11-roles.sql",
      "",
      "create table awards (id bigint primary key, contributor_id bigint references contributors on delete cascade);\n\n" +
        "alter table contributors add ways jsonb, add marks int[];\n\n",
    );

    const { code, complaint } = await runScript(join(project, "infra/check/database.ts"), [], { cwd: project });

    const found = complaint.split("\n").filter((line) => /^(lib|functions)/.test(line));
    expect(code).toBe(1);
    expect(found.sort()).toEqual(
      [
        `${inChange}: column "permision_id" of relation "role_permissions" does not exist`,
        `${afterInto}: column "usename" does not exist`,
        `${inDeclaration}: missing FROM-clause entry for table "request"`,
        `${inQuery}: column "descripton" does not exist`,
        `${inFragment}: column "scop" does not exist`,
        `${inType}: operator does not exist: bigint = text`,
        expect.stringMatching(/^functions\/admin-roles\/id\.ts returns JSON with blanks.*\{"id" : \d+\}/),
        "lib/queries/statements/admin-permissions/id.sql is out of date: npm run statements",
        "lib/queries/statements/admin-roles/id.sql is out of date: npm run statements",
        "lib/queries/statements/admin-users/id.sql is out of date: npm run statements",
        ...["admin-contributors", "admin-users", "contributors", "publishers"].map(
          (name) => `lib/queries/statements/${name}/list.sql is out of date: npm run statements`,
        ),
      ].sort(),
    );
    expect(complaint.split("\n").filter((line) => line.startsWith("The "))).toEqual([
      expect.stringMatching(/^The table awards references contributors, but is not in history_tables\(\)/),
      "The history cannot hold values of contributors.marks exactly, since it is integer[]",
      "The history cannot hold values of contributors.ways exactly, since it is jsonb",
    ]);
    expect(complaint).toMatch(/\n +insert into role_permissions \(role_id, permision_id\).*\n +\^\n/);
  });
});
