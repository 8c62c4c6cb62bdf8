import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, parse } from "node:path";
import { promisify } from "node:util";
import { transform } from "esbuild";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import manifest from "../../../lib/client/package.json" with { type: "json" };
import { operations } from "../../contract/operations.ts";
import { differenceBy } from "../../support/difference.ts";
import { plain } from "../../support/pictures.ts";
import { useStack } from "../../support/stack.ts";

/* The README's examples, those it links to, and those of the guide and the document are compiled, run, and compared with what they are to change. */

const root = join(import.meta.dirname, "../../..");
const packageFolder = join(root, "lib/client");
const run = promisify(execFile);
const stack = useStack({ from: "demo", uploads: true });
let project: string;

/** What Node.js lacks of a browser: the page's cookie. The first answer to a change is lost on the way. */
const browser = `
  const send = fetch;
  let isLost = false;
  globalThis.fetch = async (...arguments_) => {
    const request = new Request(...arguments_);
    const headers = new Headers(request.headers);
    if (request.credentials === "include") headers.set("Cookie", "refreshToken=" + process.env.TOKEN);
    const address = request.url.replace("http://localhost:3000", process.env.API);
    const response = await send(new Request(address, new Request(request, { headers })));
    if (request.method === "GET" || isLost) return response;
    isLost = true;
    throw new TypeError("fetch failed");
  };
`;

/** Next.js's own way to answer 404. */
const nextNavigation = { js: 'export const notFound = () => { throw new Error("404"); };', types: "(): never" };

/** A page of Astro as a function that React renders. Its template is JSX here, its frontmatter what the function does. */
function functionOf(page: string): string {
  const [, frontmatter = "", template = ""] = page.split(/^---$/m);
  const imports = frontmatter.match(/^import .*$/gm) ?? [];
  const body = frontmatter.replace(/^import .*$/gm, "");
  const argument = "Astro: { params: Record<string, string | undefined> }";
  return `${imports.join("\n")}\nexport default async function Page(${argument}) {${body}return (<>${template}</>);\n}\n`;
}

async function write(file: string, content: string): Promise<void> {
  await mkdir(dirname(join(project, file)), { recursive: true });
  await writeFile(join(project, file), content);
}

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), "colophon-client-"));
  for (const file of ["package.json", ...manifest.files])
    await cp(join(packageFolder, file), join(project, "node_modules/colophon-client", file), { recursive: true });
  for (const name of ["react", "react-dom", "@types/react", "@types/node", "@tanstack/react-query"]) {
    await mkdir(dirname(join(project, "node_modules", name)), { recursive: true });
    await symlink(join(root, "node_modules", name), join(project, "node_modules", name));
  }
  await write(
    "node_modules/next/package.json",
    JSON.stringify({ type: "module", exports: { "./navigation": "./navigation.js" } }),
  );
  await write("node_modules/next/navigation.js", nextNavigation.js);
  await write("node_modules/next/navigation.d.ts", `export declare function notFound${nextNavigation.types};`);
  await write("package.json", JSON.stringify({ type: "module" }));
  await write("browser.mjs", browser);
  const readme = await readFile(join(packageFolder, "README.md"), "utf8");
  for (const [, heading = "", code = ""] of readme.matchAll(/^## (\w+)$(?:(?!^## ).)*?^```ts\n(.*?)^```$/gms))
    await write(`${heading}.ts`, code);
  await write(
    "guide.ts",
    /^```ts\n(.*?)^```$/ms.exec(await readFile(join(root, "lib/contract/guide.md"), "utf8"))?.[1] ?? "",
  );
  await write("operations.ts", samples());
  for (const file of await readdir(join(packageFolder, "examples"))) {
    const code = await readFile(join(packageFolder, "examples", file), "utf8");
    if (file.endsWith(".ts")) await write(file, code);
    else await writePage(file, file.endsWith(".astro") ? functionOf(code) : code);
  }
});

/** The client's calls that the OpenAPI document shows. */
const samples = () => `
  import { createClient, imageOf } from "colophon-client";
  declare const file: Blob;
  const colophon = createClient("");
  ${operations.flatMap((each) => each["x-codeSamples"]?.map(({ source }) => `{ ${source} }`) ?? []).join("\n")}
`;

/** Writes a page with JSX, and the script that it becomes, since Node.js runs no JSX. */
async function writePage(file: string, page: string): Promise<void> {
  const { name } = parse(file);
  await write(`${name}.tsx`, page);
  await write(`${name}.js`, (await transform(page, { loader: "tsx", jsx: "automatic" })).code);
}

afterAll(() => rm(project, { recursive: true }));

interface How {
  /** The user whose cookie the browser has. */
  readonly as?: "administrator" | "editor" | "nobody";
  /** What is called of what the example exports. */
  readonly driver?: string;
}

/** Runs an example, the README's by its heading, and gives what it prints. */
async function runExample(file: string, { as = "nobody", driver = "" }: How = {}): Promise<string> {
  await write("main.ts", `import * as example from "./${file}";\n${driver}`);
  const flags = ["--import", join(project, "browser.mjs"), join(project, "main.ts")];
  const env = { ...process.env, API: stack.url, TOKEN: `local-${as}` };
  return (await run(process.execPath, flags, { env })).stdout;
}

/** Renders a page that the example exports. */
const render = (argument: string) => `
  import { renderToStaticMarkup } from "react-dom/server";
  const page = await example.default(${argument});
  console.log(page instanceof Response ? page.status : renderToStaticMarkup(page));
`;

describe("The examples of the client", () => {
  let printed: string;

  beforeEach(() => {
    printed = "";
  });

  const changesOf = (file: string, how: How) =>
    differenceBy(stack.sql, async () => {
      printed = await runExample(file, how);
    });

  const compile = async (files: readonly string[], ...libraries: readonly string[]) => {
    const flags = [
      "--noEmit",
      "--strict",
      "--noUncheckedIndexedAccess",
      "--exactOptionalPropertyTypes",
      "--jsx",
      "react-jsx",
    ];
    const target = ["--target", "es2024", "--module", "nodenext", "--resolveJsonModule"];
    const compiler = join(root, "node_modules/.bin/tsc");
    const { stdout } = await run(compiler, [...flags, ...target, ...libraries, ...files], { cwd: project }).catch(
      (error) => error,
    );
    return stdout;
  };

  it("are accepted by the compiler, as strict as it can be", async () => {
    const files = (await readdir(project)).filter((file) => /^(?!main).*\.tsx?$/.test(file));

    expect(await compile(files, "--lib", "es2024,dom,dom.iterable", "--types", "", "--skipLibCheck")).toBe("");
    expect(files).toHaveLength(10);
  });

  it("are accepted where there is no DOM, with Node's types, and so are the package's types themselves", async () => {
    expect(await compile(["Website.ts", "whole-lists.ts"], "--lib", "es2024", "--types", "node")).toBe("");
    expect(await compile(["Website.ts"], "--lib", "es2024", "--types", "")).toContain("Cannot find name 'Response'");
  });

  describe("for a website", () => {
    it("list people with links, and a person with works", async () => {
      expect(await runExample("Website.ts")).toBe("{ links: [ '/osamu-tezuka: Osamu Tezuka' ], pages: 1 }\n7\n");
    });

    it.each([
      ["next-page.js", "{ params: Promise.resolve({ slug: 'osamu-tezuka' }) }"],
      ["astro-page.js", "{ params: { slug: 'osamu-tezuka' } }"],
    ])("%s shows a person with works", async (file, argument) => {
      const html = await runExample(file, { driver: render(argument) });

      expect(html).toContain("<main><h1>Osamu Tezuka</h1><ul><li><b>Astro Boy</b> A robot boy");
    });

    it.each([
      ["next-page.js", "{ params: Promise.resolve({ slug: 'nobody' }) }", /Error: 404/],
      ["astro-page.js", "{ params: { slug: 'nobody' } }", /^404$/m],
    ])("%s is 404 for nobody", async (file, argument, answer) => {
      const { stdout, stderr } = await runExample(file, { driver: render(argument) }).then(
        (stdout) => ({ stdout, stderr: "" }),
        (error: { stdout: string; stderr: string }) => error,
      );

      expect(stdout + stderr).toMatch(answer);
    });

    it("read whole lists", async () => {
      expect(await runExample("whole-lists.ts")).toMatch(/^\d+ publishers\n(50 of (\d+)\n)+(\d+ of \2\n)\2 lines\n$/);
    });
  });

  describe("for a panel", () => {
    const idOf = async (slug: string) => (await stack.sql`select id from contributors where slug = ${slug}`)[0]?.id;

    it("say who is signed in", async () => {
      const driver = "console.log(await example.whoAmI());";

      expect(await runExample("Panel.ts", { as: "editor", driver })).toBe("{ name: 'editor', mayDelete: false }\n");
      expect(await runExample("Panel.ts", { driver })).toBe("Unauthorized\n");
    });

    it("list contributors with who is editing them", async () => {
      await stack.sql`
        insert into contributor_locks (contributor_id, holder_id, expires_at)
        select contributors.id, users.id, now() + interval '1 hour' from contributors, users
        where contributors.slug = 'osamu-tezuka' and username = 'Marginalia'
      `;

      expect(await changesOf("Panel.ts", { as: "editor", driver: 'await example.list("tezuka", 0);' })).toEqual([]);
      expect(printed).toMatch(/^\d+ Osamu is public of all\nMarginalia is editing Osamu\n1 of 1\n$/);
    });

    it("edit what the form changes, and nothing else, once, although an answer is lost", async () => {
      const driver = `
        const id = ${await idOf("naoki-urasawa")};
        const opened = await example.open(id);
        const { aliases, descriptions } = opened.data;
        console.log(await example.save(opened, {
          ...opened.data,
          type: "author",
          aliases: [...aliases, { name: "Urasawa-sensei" }],
          descriptions: descriptions.map((each) => (each.language === "English" ? { ...each, source: "A reader" } : each)),
        }));
        console.log(await example.save(opened, { gender: "" }));
        console.log(await example.save(await example.open(id), { first_name: "Osamu", last_name: "Tezuka" }));
        console.log(await example.save(await example.open(id), { links: ["javascript:alert(1)"] }));
        await example.leave(id);
      `;

      expect(await changesOf("Panel.ts", { as: "editor", driver })).toEqual([
        "changes + admin-contributors/edit",
        "changes + admin-contributors/edit",
        'contributor_aliases + {"name":"Urasawa-sensei"}',
        'contributor_descriptions.source: "Wikipedia" -> "A reader"',
        'contributors.gender: "male" -> null',
        'contributors.type: "author and artist" -> "author"',
      ]);
      expect(printed).toBe(
        "Saved\nSaved\nContributor with this Name exists already.\nWrong links: Invalid parameter: links\n",
      );
    });

    it("add a contributor with an avatar", async () => {
      const png = (await plain().png().toBuffer()).toString("base64");
      const file = `new Blob([Buffer.from("${png}", "base64")], { type: "image/png" })`;
      const driver = `
        const id = await example.add("Machiko", "Hasegawa", ${file});
        const opened = await example.open(id);
        const withAvatar = await example.setAvatar(opened, ${file});
        console.log(id, opened.data.image !== withAvatar.data.image, await example.save(withAvatar, { gender: "female" }));
      `;

      expect(await changesOf("Panel.ts", { as: "editor", driver })).toEqual([
        "changes + admin-contributors/add",
        "changes + admin-contributors/edit",
        "changes + admin-contributors/update-avatar",
        "changes + admin-contributors/update-avatar",
        expect.stringMatching(/^contributors \+ .*"slug":"machiko-hasegawa".*"image":"avatars\//),
        expect.stringMatching(/^images_to_remove \+ /),
      ]);
      expect(printed).toBe(`${await idOf("machiko-hasegawa")} true Saved\n`);
    });

    it("give a user another role, and rename a role", async () => {
      expect(await changesOf("users-and-roles.ts", { as: "administrator" })).toEqual([
        "changes + admin-roles/edit",
        "changes + admin-users/edit",
        'roles.name: "Auditor" -> "Reviewer"',
        expect.stringMatching(/^user_roles \+/),
      ]);
      expect(printed).toBe("saved\nsaved\n");
    });

    it("fill the cache of TanStack Query", async () => {
      expect(await runExample("tanstack-query.ts", { as: "editor" })).toBe("[ 'Urasawa' ]\n");
    });
  });

  it("mock the service by the document's examples", async () => {
    expect(await runExample("mock.ts")).toBe("Kodansha\n");
  });
});
