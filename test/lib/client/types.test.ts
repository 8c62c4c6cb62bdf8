import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callsFile } from "../../../infra/api/client/calls.ts";
import { type Editor, type LanguageServer, startLanguageServer } from "../../support/language-server.ts";

let server: LanguageServer;
let programs = 0;

beforeAll(async () => {
  server = await startLanguageServer();
});

afterAll(() => server.stop());

/** An editor with a program that has a client. */
function write(code: string): Editor {
  const head =
    'import { createClient } from "colophon-client";\nconst colophon = createClient("http://localhost:3000");\n';
  return server.open(`test/lib/client/program-${++programs}.ts`, `${head}${code}\nexport {};\n`);
}

describe("The client's types", () => {
  it("are few enough to be read", async () => {
    const lines = (await readFile(callsFile, "utf8")).split("\n");

    expect(lines.length).toBeLessThanOrEqual(1_000);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(120);
  });

  it("show of a call what it does, who may do it, and what it takes and answers, on one screen", async () => {
    const { hover } = write(`
      await colophon.GET("/admin-contributors/id/{id}", { path: { id: 7 } });
      await colophon.DELETE("/admin-roles/delete/{id}", { path: { id: 7 } });
    `);

    const shown = await hover('GET("');
    expect(shown).toMatch(/^\(method\) Calls.GET\(path: "\/admin-contributors\/id\/\{id\}", options: ById</);
    expect(shown).toContain(
      'Call<AdminContributor, AdminErrors<keyof GetAdminContributorQuery> | Failure<404, "Contributor not found">',
    );
    expect(shown).toMatch(
      /Shows a contributor; opens an edit lock for callers who may edit\. Needs `view-contributors`\.$/,
    );
    const deletion = await hover('DELETE("');
    expect(deletion).toContain(
      "Deletes a role; users who held only this one get the default role. Needs `delete-roles`.",
    );
    for (const each of [shown, deletion]) expect(each.split("\n").length).toBeLessThanOrEqual(16);
  });

  it("show of a field what its name leaves open", async () => {
    const { hover } = write(`
      const { data } = await colophon.GET("/contributors", { query: { client: 1, include: "slug" } });
      data?.contributors[0]?.gender;
      await colophon.POST("/admin-contributors/edit/{id}", { path: { id: 7 }, body: { first_name: "A", public: true } });
    `);

    expect(await hover("include")).toMatch(/ListContributorsQuery.include\?: "slug".*Further fields to show/s);
    expect(await hover("gender")).toMatch(/ContributorListItem.gender: string \| null.*Null if not known\./s);
    expect(await hover("public:")).toMatch(
      /EditContributor.public\?: .*Whether public endpoints show the contributor\. By default `false`\./s,
    );
  });

  it("tell errors apart by their codes, with their messages, and the field that a 400 blames", async () => {
    const { hover, problems } = write(`
      const { data, error } = await colophon.POST("/admin-roles/edit/{id}", { path: { id: 7 }, body: { name: "A" } });
      if (error?.code === 409) console.log(error.data.length);
      if (error?.code === 400) console.log(error.field?.length);
      if (!error) console.log(data.code);
    `);

    expect(await hover("data.length")).toContain('"Role with the same name already exists"');
    expect(await hover("field?")).toMatch(/"If-Match".*keyof EditRole/);
    expect(await hover("code);")).toContain("code: 200");
    expect(await problems()).toEqual([]);
  });

  it("know the version of a detail, the id of what was created, and take ids as numbers", async () => {
    const { problems } = write(`
      const opened = await colophon.GET("/admin-roles/id/{id}", { path: { id: 7 } });
      const version: string = opened.error ? "" : opened.version;
      const added = await colophon.POST("/admin-roles/add", { body: { name: "A", description: version } });
      const created: number = added.error ? 0 : added.created;
      await colophon.GET("/admin-users", { query: { role: created } });
      await colophon.POST("/admin-users/edit/{id}", { path: { id: 7 }, patch: { added_roles: [created] } });
    `);

    expect(await problems()).toEqual([]);
  });

  it("offer the paths of a method", async () => {
    const { completions } = write('void colophon.DELETE("');

    expect(await completions('DELETE("')).toEqual(
      expect.arrayContaining(["/admin-users/lock/{id}", "/admin-roles/delete/{id}"]),
    );
    expect(await completions('DELETE("')).not.toContain("/admin-users/edit/{id}");
  });

  it.each([
    [
      'POST("/admin-roles/edit/{id}", { path: { id: 7 }, body: { name: 1 } })',
      "Type 'number' is not assignable to type 'string'.",
    ],
    ['POST("/admin-roles/edit/{id}", { path: { id: 7 } })', "Property 'body' is missing"],
    ['POST("/admin-contributors/edit/{id}", { path: { id: 7 }, patch: { first: "A" } })', "'first' does not exist"],
    ['GET("/contributors", { query: {} })', "Property 'client' is missing"],
    ['DELETE("/admin-roles/delete/{id}")', "Expected 2 arguments"],
    ['GET("/admin-users", { query: { order: "name" } })', '"name-asc"'],
    ['GET("/admin-users/id/{id}", { path: { id: "7" } })', "Type 'string' is not assignable to type 'number'."],
    ['GET("/admin-user")', "keyof Reads"],
  ])("make the compiler explain what is wrong with %s", async (call, explanation) => {
    const { problems } = write(`await colophon.${call};`);

    expect((await problems()).join("\n")).toContain(explanation);
  });
});
