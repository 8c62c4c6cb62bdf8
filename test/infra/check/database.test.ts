import { execFile } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { copyProject } from "../../support/project-copy.ts";

// Each run is a build, a PostgreSQL and all functions; other tests use the machine as well.
vi.setConfig({ testTimeout: 240_000 });
let project: string;

beforeAll(async () => {
  project = await copyProject();
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

const check = () =>
  new Promise<{ code: number; complaint: string }>((resolve) => {
    const program = join(project, "infra/check/database.ts");
    execFile(process.execPath, [program], { cwd: project }, (error, _, complaint) =>
      resolve({ code: Number(error?.code ?? 0), complaint }),
    );
  });

describe("npm run check", () => {
  it("finds names that do not exist, JSON with blanks and outdated statements, each at its place", async () => {
    const inChange = await edit(
      "lib/changes/edit-role.sql",
      "permission_id) select target",
      "permision_id) select target",
    );
    const afterInto = await edit(
      "lib/changes/link-identity.sql",
      "username) = identity_key",
      "usename) = identity_key",
    );
    const inDeclaration = await edit("lib/changes/edit-user.sql", "request.target", "request.targett");
    const inQuery = await edit(
      "lib/queries/publishers.ts",
      "website, '') as website, coalesce(head",
      "webside, '') as website, coalesce(head",
    );
    const inFragment = await edit("lib/queries/fragments/lists.ts", "scope in", "scop in");
    await edit(
      "lib/queries/roles.ts",
      "_{permissions} as".replace("_", "$"),
      "(select json_agg(json_build_object('id', id)) from permissions) as",
    );

    const { code, complaint } = await check();

    expect(code).toBe(1);
    expect(
      complaint
        .split("\n")
        .filter((line) => /^(lib|functions)/.test(line))
        .sort(),
    ).toEqual(
      [
        `${inChange}: column "permision_id" of relation "role_permissions" does not exist`,
        `${afterInto}: column "usename" does not exist`,
        `${inDeclaration}: missing FROM-clause entry for table "request"`,
        `${inQuery}: column "webside" does not exist`,
        `${inFragment}: column "scop" does not exist`,
        expect.stringMatching(/^functions\/admin-roles\/id\.ts returns JSON with blanks.*\{"id" : \d+\}/),
        "lib/queries/statements/admin-roles/id.sql is out of date: npm run statements",
        ...["admin-contributors", "admin-users", "contributors", "publishers"].map(
          (name) => `lib/queries/statements/${name}/list.sql is out of date: npm run statements`,
        ),
      ].sort(),
    );
    expect(complaint).toMatch(/\n +insert into role_permissions \(role_id, permision_id\).*\n +\^\n/);
  });
});
