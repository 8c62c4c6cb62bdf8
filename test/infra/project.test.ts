import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { runningPostgres } from "../../infra/aws-local/postgres/cluster.ts";
import { copyEndpoint } from "../../infra/endpoint/new.ts";
import { readCredentials } from "../../infra/local/credentials.ts";
import { openDatabase } from "../support/database.ts";
import { copyProject } from "../support/project-copy.ts";
import { runScript } from "../support/script.ts";
import { type ServiceProcess, startProcess } from "../support/service-process.ts";

let project: string;
let service: ServiceProcess;

beforeAll(async () => {
  project = await copyProject();
});

afterAll(async () => {
  await service.stop();
  await rm(project, { recursive: true });
});

/** Runs a program of the copy. */
async function run(file: string, ...words: string[]): Promise<string> {
  const { code, output, complaint } = await runScript(join(project, file), words, { cwd: project });
  if (code !== 0) throw new Error(`${output}${complaint}`);
  return output;
}

/** What `npm run new` does for these words. Returns the files that it has written or extended. */
async function copy(words: string): Promise<string[]> {
  const [method = "", path = "", , like = ""] = words.split(" ");
  return (await copyEndpoint(project, { method, path, like })).sort();
}

const statementsOf = (endpointPath: string) =>
  readFile(join(project, `lib/queries/statements/${endpointPath}.sql`), "utf8").catch(() => undefined);

/** Replaces texts of a file, each of which must be there. */
async function edit(file: string, ...replacements: readonly (readonly [old: string, now: string])[]) {
  let text = await readFile(join(project, file), "utf8");
  for (const [old, now] of replacements) {
    if (!text.includes(old)) throw new Error(`${file} has no ${old}`);
    text = text.replace(old, now);
  }
  await writeFile(join(project, file), text);
}

/** Saves a file while the service runs. */
async function save(file: string, change: (text: string) => string): Promise<void> {
  const path = join(project, file);
  const text = await readFile(path, "utf8");
  service.forget();
  // As most editors do it: the file is another one from then on.
  await writeFile(`${path}~`, change(text));
  await rename(`${path}~`, path);
  await expect.poll(service.output, { timeout: 30_000 }).toContain(`${file} has changed`);
}

async function saveForThisTest(file: string, change: (text: string) => string): Promise<void> {
  const original = await readFile(join(project, file), "utf8");
  onTestFinished(() => save(file, () => original));
  await save(file, change);
}

async function ask(method: string, path: string, body?: object, type = "application/json") {
  const response = await fetch(`${service.url}${path}`, {
    method,
    headers: { Cookie: "refreshToken=local-administrator", "Content-Type": type },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: JSON.parse(await response.text()) };
}

async function invoke(FunctionName: string, payload: object) {
  const credentials = await readCredentials(service.directory);
  const lambda = new LambdaClient({ endpoint: service.url, region: "local", credentials });
  const { Payload } = await lambda.send(new InvokeCommand({ FunctionName, Payload: JSON.stringify(payload) }));
  lambda.destroy();
  return JSON.parse(Buffer.from(Payload ?? []).toString());
}

describe("npm run new", () => {
  it("copies the files of an endpoint, with names of their own", async () => {
    expect(await copy("GET /contributor/alias/{slug} --like contributor/slug")).toEqual([
      "events/contributor/alias.json",
      "functions/contributor/alias.ts",
      "lib/contract/contributors.ts",
    ]);
    expect(await copy("POST /admin-roles/praise/{id} --like admin-roles/edit")).toEqual([
      "events/admin-roles/praise.json",
      "functions/admin-roles/praise.ts",
      "lib/changes/all.ts",
      "lib/changes/praise-role.sql",
      "lib/contract/admin-roles.ts",
    ]);
    const others = "POST /admin-permissions/invent --like admin-permissions/add";
    const written = await run("infra/endpoint/new.ts", ...others.split(" "));
    expect(written).toMatch(/^events\/admin-permissions\/invent.json$/m);
    await copy("GET /publishers/newest/first --like publishers/list");
    await copy("DELETE /admin-permissions/forget/{id} --like admin-permissions/delete");
  });

  it("leaves nothing for the check to find, nor do a new column and a change that README.md explains", async () => {
    await copy("POST /admin-users/verify-age/{id} --like admin-users/logout");
    await edit("lib/contract/admin-users.ts", [
      '/admin-users/verify-age/{id}", {\n  summary: "Logs a user out by revoking their refresh tokens"',
      '/admin-users/verify-age/{id}", {\n  summary: "Verifies a user\'s age"',
    ]);
    await edit(
      "lib/changes/verify-age-user.sql",
      ["Ends all sessions of the user, and releases the user's edit locks.", "The user is old enough."],
      [
        "perform end_sessions_of(request.target);",
        "update users set age_verified = true, version = version + 1 where id = request.target and not age_verified;",
      ],
      ["done(request, caller, record => 'user/' || request.target)", "done(request, caller)"],
    );

    await writeFile(join(project, "lib/migrations/tables/12-born.sql"), "alter table contributors add born text;\n");
    await edit("lib/migrations/tables/all.ts", ['  "11-roles",\n', '$&  "12-born",\n']);
    await edit(
      "lib/contract/admin-contributors.ts",
      ["  contributorOrders,\n", "$&  date,\n"],
      ["  search,\n", "$&  withDefault,\n"],
      ["    links: list(linkOrObject, linksMax),\n", "$&    born: withDefault(date, null),\n"],
    );
    const born = "  born: z.nullable(z.string()),\n$&";
    await edit("lib/contract/responses.ts", ["  gender: possible,\n  links,\n", born]);
    await edit("lib/queries/admin-contributors.ts", ["    coalesce(gender, '') as gender,", "    born,\n$&"]);
    const bornToo = "$&        born = fields.born,\n";
    await edit(
      "lib/changes/edit-contributor.sql",
      ["        sort_name = fields.sort_name,\n", bornToo],
      ["      set\n        gender = fields.gender,\n", bornToo],
    );

    await writeFile(join(project, "lib/queries/statements/nothing.sql"), "select 1;\n");
    const withoutTests = { extends: "./tsconfig.json", include: ["functions", "lib", "infra/**/*.d.ts"] };
    await writeFile(join(project, "tsconfig.service.json"), JSON.stringify(withoutTests));
    const biome = (...words: string[]) =>
      run(
        "node_modules/@biomejs/biome/bin/biome",
        "check",
        "--vcs-enabled=false",
        ...words,
        "events",
        "functions",
        "lib",
      );
    await biome("--write");
    // Of `npm run check` what takes seconds; that PostgreSQL takes the SQL is for the next tests.
    const checkGenerated = async () => {
      await run("infra/endpoint/generate.ts");
      await Promise.all([
        expect(run("infra/endpoint/complete.ts")).rejects.toThrow(
          /^(No test in test\/functions has the title .*\n){6}$/,
        ),
        biome(),
        run("node_modules/typescript/bin/tsc", "--project", "tsconfig.service.json", "--checkers", "1"),
      ]);
    };
    const checkSql = async () => {
      await run("infra/check/statements.ts");
      await run("infra/check/sql.ts");
    };
    await Promise.all([checkSql(), checkGenerated()]);
    expect(await statementsOf("nothing")).toBeUndefined();
    expect(await statementsOf("contributor/alias")).toMatch(/^-- GET \/contributor\/alias\/\{slug\}\n/);
  });

  it("makes endpoints that behave as their siblings do", async () => {
    service = await startProcess({ project });

    const alias = await ask("GET", "/contributor/alias/naoki-urasawa");
    expect(alias).toEqual(await ask("GET", "/contributor/slug/naoki-urasawa"));
    expect(alias.body).toMatchObject({ last_name: "Urasawa" });
    expect((await ask("GET", "/publishers/newest/first?limit=2")).body.publishers).toHaveLength(2);
    const permission = { name: "invented", description: "By a copy" };
    expect((await ask("POST", "/admin-permissions/invent", permission)).status).toBe(200);
    const { id } = (await ask("GET", "/admin-permissions")).body.at(-1);
    expect((await ask("DELETE", `/admin-permissions/forget/${id}`)).status).toBe(200);
    expect((await ask("GET", `/admin-permissions/id/${id}`)).status).toBe(404);
    expect((await ask("POST", "/admin-roles/praise/4", { name: "Best" })).status).toBe(200);
    expect((await ask("GET", "/admin-roles/id/4")).body).toMatchObject({ name: "Best" });
  });

  it("makes a column that is told, undone and restored, and makes tags stale", async () => {
    // Without uploads no image comes back.
    await ask("POST", "/admin-contributors/add", { first_name: "Naoki", last_name: "Newcomer" });
    const { contributors } = (await ask("GET", "/admin-contributors?client=1&search=newcomer")).body;
    const [{ id }] = contributors;
    const detail = async () => (await ask("GET", `/admin-contributors/id/${id}?lock=none`)).body;
    const sql = openDatabase(`${await runningPostgres(join(service.directory, "postgres"))}/colophon`);
    await sql`delete from stale_tags`;

    const patch = "application/merge-patch+json";
    expect((await ask("POST", `/admin-contributors/edit/${id}`, { born: "1960-01-02" }, patch)).status).toBe(200);

    const stale = await sql`select tag from stale_tags order by tag`;
    expect(stale.map(({ tag }) => tag)).toEqual([`contributor-${id}`, "contributors"]);
    await sql.end();
    const [change] = (await invoke("ops-list-changes", { record: `contributor/${id}`, limit: 1 })).changes;
    expect(change).toMatchObject({ name: "Naoki Newcomer", what: ['born none → "1960-01-02"'] });
    const edited = await detail();
    expect(edited).toMatchObject({ born: "1960-01-02" });
    expect((await ask("DELETE", `/admin-contributors/delete/${id}`)).status).toBe(200);
    const [deletion] = (await invoke("ops-list-changes", { limit: 1 })).changes;
    expect(await invoke("ops-undo", { change: deletion.id })).toMatchObject({ undone: [{ missing: [] }] });
    expect(await detail()).toEqual(edited);
    expect(await invoke("ops-undo", { change: change.id })).toMatchObject({ undone: [{ missing: [] }] });
    expect(await detail()).toEqual({ ...edited, born: null });
  });

  it("makes a change that is told and undone", async () => {
    const [{ id }] = (await ask("GET", "/admin-users?search=reader")).body.users;
    const isVerified = async () => (await ask("GET", `/admin-users/id/${id}?lock=none`)).body.age_verified;
    expect(await isVerified()).toBe(false);

    expect((await ask("POST", `/admin-users/verify-age/${id}`)).status).toBe(200);

    expect(await isVerified()).toBe(true);
    const [change] = (await invoke("ops-list-changes", { limit: 1 })).changes;
    expect(change).toMatchObject({
      endpoint: "admin-users/verify-age",
      by: "administrator",
      record: `user ${id}`,
      name: "reader",
      what: ["age_verified no → yes"],
    });
    expect(await invoke("ops-undo", { change: change.id })).toMatchObject({ undone: [{ change: change.id }] });
    expect(await isVerified()).toBe(false);
  });

  it.each([
    { reason: "publishers/all is no path", words: "GET publishers/all --like publishers/list" },
    { reason: "There is no endpoint publishers/map", words: "GET /publishers/all --like publishers/map" },
    { reason: "There is no endpoint ops/tidy", words: "GET /publishers/all --like ops/tidy" },
    {
      reason: "publisher/random needs no permission, and each path that begins with /admin- does",
      words: "GET /admin-roles/any --like publisher/random",
    },
    { reason: "publishers/list is a GET, not a POST", words: "POST /publishers/all --like publishers/list" },
    { reason: "The path of publisher/slug has {slug}", words: "GET /publishers/one/{id} --like publisher/slug" },
    { reason: "/whole is reserved by the edge for whole lists", words: "GET /whole/series --like publishers/list" },
    { reason: "/ping is reserved by API Gateway", words: "GET /ping --like publisher/random" },
    {
      reason: "/provider is reserved by the local service for its OpenID provider",
      words: "GET /provider/random --like publisher/random",
    },
    { reason: "There is functions/publishers/list.ts already", words: "GET /publishers/list --like publishers/list" },
    {
      reason: "GET /admin-roles/{id} exists already, as admin-roles/list",
      words: "GET /admin-roles/{id} --like admin-roles/id",
    },
  ])("refuses what cannot be copied: $reason", async ({ reason, words }) => {
    await expect(copy(words)).rejects.toThrow(reason);
  });
});

const nobody = () => ask("GET", "/contributor/slug/nobody");

it("A save that breaks the build is shown in response and terminal, and the next one is served", async () => {
  const file = "functions/contributor/slug.ts";
  await save(file, (text) => `${text}(`);
  service.forget();

  const broken = await nobody();

  expect(broken.status).toBe(500);
  expect(broken.body.message).toContain(file);
  expect(service.output()).toContain(file);

  await save(file, (text) => text.replace(/\($/, ""));
  expect((await nobody()).status).toBe(404);
});

describe("A save while a function opens after another save", () => {
  /** Longer than a request waits for one environment before it asks for another. */
  const slowly = `\nconsole.log("Opening"); await new Promise((done) => setTimeout(done, 1_500));\n`;
  let roles = 0;
  const addRole = async () => {
    roles += 1;
    const { status } = await ask("POST", "/admin-roles/add", { name: `Readers ${roles}`, description: "They read" });
    return { status, body: (await ask("GET", "/admin-roles")).body };
  };

  it.each([
    {
      file: "lib/contract/publishers.ts",
      opening: "functions/publisher/slug.ts",
      texts: ["Publisher not found", "Nobody there", "Nobody here"],
      request: () => ask("GET", "/publisher/slug/nobody"),
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
      await saveForThisTest(opening, (text) => `${text}${slowly}`);
      await saveForThisTest(file, (text) => text.replace(before, first));
      const waiting = request();
      await expect.poll(service.output).toContain("Opening");
      await save(file, (text) => text.replace(first, second));

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
    await save(list, (text) => text.replace(/\n\];/, '\n  "9999-shelves",$&'));
    const text = "-- Where 𝔹ooks stand.\ncreate table shelves (id int);\n\ncreate table 𝔹oards (\n  id bogus\n);\n";
    await writeFile(join(project, file), text);
    await expect.poll(service.output).toContain(`${file} has changed`);

    const { status, body } = await ask("GET", "/admin-roles");

    const reason = `Migration 9999-shelves failed: ${file}:5:6: ERROR: type "bogus" does not exist; SQLState: 42704`;
    expect([status, body.message]).toEqual([500, `${reason}\n  id bogus\n     ^`]);
    await save(list, (text) => text.replace('\n  "9999-shelves",', ""));
    expect((await ask("GET", "/admin-roles")).status).toBe(200);
  });

  it("of a database function, in response and terminal", async () => {
    const file = "lib/changes/add-role.sql";
    await save(file, (text) => text.replace("insert into", "insert onto"));
    const lines = (await readFile(join(project, file), "utf8")).split("\n");
    const index = lines.findIndex((line) => line.includes("insert onto"));
    const column = lines[index]?.indexOf("onto") ?? 0;
    const message = `${file}:${index + 1}:${column + 1}: ERROR: syntax error`;

    const response = await ask("GET", "/admin-roles");

    expect([response.status, response.body.message]).toEqual([
      500,
      `${message} at or near "onto"; SQLState: 42601\n${lines[index]}\n${" ".repeat(column)}^`,
    ]);
    expect(service.output()).toContain(message);
  });
});
