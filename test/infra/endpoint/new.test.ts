import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type NewEndpoint, writeEndpoint } from "../../../infra/endpoint/new.ts";

const root = join(import.meta.dirname, "../../..");
let copy: string;

beforeAll(async () => {
  copy = await mkdtemp(join(tmpdir(), "colophon-new-"));
  for (const folder of ["functions", "lib/changes", "lib/contract", "lib/queries"])
    await cp(join(root, folder), join(copy, folder), { recursive: true });
});

afterAll(() => rm(copy, { recursive: true }));

/** What is written for a endpoint, by file: all of a new file, what was added to an old one. */
async function written(endpoint: NewEndpoint): Promise<Record<string, string>> {
  const files = await writeEndpoint(copy, endpoint);
  const texts = files.map(async (file) => {
    const before = await readFile(join(root, file), "utf8").catch(() => "");
    const after = await readFile(join(copy, file), "utf8");
    return [file, after.startsWith(before) ? after.slice(before.length) : after] as const;
  });
  return Object.fromEntries(await Promise.all(texts));
}

describe("npm run new", () => {
  it("writes all of a public record", async () => {
    const files = await written({ method: "GET", path: "/publishers/countries" });

    expect(Object.keys(files)).toEqual([
      "functions/publishers/countries.ts",
      "events/publishers/countries.json",
      "test/functions/publishers/countries.test.ts",
      "lib/contract/publishers.ts",
      "lib/queries/publishers.ts",
    ]);
    expect(files["functions/publishers/countries.ts"]).toContain(
      "export const handler = serve(publishersCountries, () => queries.countries());",
    );
    expect(files["lib/contract/publishers.ts"]).toContain(
      'path: "/publishers/countries",\n  answers: { record: FILL_IN }',
    );
    expect(files["lib/queries/publishers.ts"]).toContain("(): PublicQuery<Answer<FILL_IN>> =>");
    expect(JSON.parse(files["events/publishers/countries.json"] ?? "")).toMatchObject({
      resource: "/publishers/countries",
      path: "/publishers/countries",
      httpMethod: "GET",
    });
  });

  it("writes all of a list behind a permission", async () => {
    const files = await written({
      method: "GET",
      path: "/admin-roles/users/{id}",
      permission: "view-roles",
      list: true,
    });

    expect(files["functions/admin-roles/users.ts"]).toContain(
      "serveList(adminRolesUsers, ({ path }) => queries.users(path.id));",
    );
    expect(files["lib/contract/admin-roles.ts"]).toContain('permission: "view-roles",\n  parameters: { id: FILL_IN }');
    expect(files["lib/queries/roles.ts"]).toContain("GuardedListQuery<Answer<FILL_IN>> => ({\n  guarded: true,");
    expect(files["events/admin-roles/users.json"]).toContain('"Cookie": "refreshToken=local-administrator"');
  });

  it("writes all of a change", async () => {
    const files = await written({ method: "POST", path: "/admin-users/ban/{id}", permission: "edit-users" });

    expect(files["functions/admin-users/ban.ts"]).toContain('change("ban_user", path.id, body)');
    expect(files["lib/changes/ban-user.sql"]).toContain("create function ban_user(request request) returns outcome");
    expect(files["lib/changes/all.ts"]).toContain('import banUser from "./ban-user.sql";\n\n');
    expect(files["lib/changes/all.ts"]).toContain("  ban_user: banUser,\n");
    expect(files["test/functions/admin-users/ban.test.ts"]).toContain('describe("POST /admin-users/ban/{id}"');
  });

  it.each<[string, NewEndpoint]>([
    ["PUT /publishers is no", { method: "PUT", path: "/publishers" }],
    ["GET publishers is no", { method: "GET", path: "publishers" }],
    ["A change needs a --permission", { method: "POST", path: "/admin-users/close/{id}" }],
    ["GET /publishers is declared already", { method: "GET", path: "/publishers" }],
    ["No endpoint begins with /series", { method: "GET", path: "/series" }],
  ])("refuses what cannot be an endpoint: %s", async (reason, endpoint) => {
    await expect(writeEndpoint(copy, endpoint)).rejects.toThrow(reason);
  });
});
