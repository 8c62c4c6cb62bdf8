import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, parse } from "node:path";
import { promisify } from "node:util";
import { transform } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import manifest from "../../../lib/client/package.json" with { type: "json" };
import service from "../../../package.json" with { type: "json" };
import { operations } from "../../contract/operations.ts";
import { differenceBy } from "../../support/difference.ts";
import { dataUrl, plain } from "../../support/pictures.ts";
import { readmeExample } from "../../support/readme-examples.ts";
import { useStack } from "../../support/stack.ts";

/*
 * The package, and the examples of its README, those that it links to, and those of the guide and the document: they are
 * compiled, run, and compared with what they are to change. react-admin's providers run in a browser (test/browser).
 */

const root = join(import.meta.dirname, "../../..");
const packageFolder = join(root, "lib/client");
const run = promisify(execFile);
const stack = useStack({ from: "demo", uploads: true });
let project: string;
/** The packages that are there after the client's installation. */
let installed: readonly string[];

/** What Node.js lacks of a browser: the page's cookie. The first response to a change is lost. */
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
  const modules = join(project, "node_modules");
  await write("package.json", JSON.stringify({ type: "module" }));
  await run("npm", ["pack", "--silent", packageFolder], { cwd: project });
  // Without a network, so that nothing but the package is there to install.
  const flags = ["--offline", "--no-audit", "--no-fund"];
  await run("npm", ["install", ...flags, `./${manifest.name}-${manifest.version}.tgz`], { cwd: project });
  installed = (await readdir(modules)).filter((name) => !name.startsWith("."));
  for (const name of ["react", "react-dom", "@types/react", "@types/node", "@tanstack/react-query"]) {
    await mkdir(dirname(join(modules, name)), { recursive: true });
    await symlink(join(root, "node_modules", name), join(modules, name));
  }
  const exported = JSON.stringify({ type: "module", exports: { "./navigation": "./navigation.js" } });
  await write("node_modules/next/package.json", exported);
  await write("node_modules/next/navigation.js", 'export const notFound = () => { throw new Error("404"); };');
  await write("node_modules/next/navigation.d.ts", "export declare function notFound(): never;");
  await write("browser.mjs", browser);
  for (const heading of ["Website", "Panel"]) await write(`${heading}.ts`, await readmeExample(heading));
  const [, guide = ""] = /^```ts\n(.*?)^```$/ms.exec(await readFile(join(root, "lib/contract/guide.md"), "utf8")) ?? [];
  await write("guide.ts", guide);
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
  ${operations.flatMap((each) => each["x-codeSamples"]?.map(({ source }: { source: string }) => `{ ${source} }`) ?? []).join("\n")}
`;

/** Writes a page with JSX, and the script that it becomes, since Node.js runs no JSX. */
async function writePage(file: string, page: string): Promise<void> {
  const { name } = parse(file);
  await write(`${name}.tsx`, page);
  await write(`${name}.js`, (await transform(page, { loader: "tsx", jsx: "automatic" })).code);
}

afterAll(() => rm(project, { recursive: true }));

/** Runs an example, the README's by its heading, as the page of a user, and returns what it prints. */
async function runExample(file: string, as: string, driver: string): Promise<string> {
  await write("main.ts", `import * as example from "./${file}";\n${driver}`);
  const flags = ["--import", join(project, "browser.mjs"), join(project, "main.ts")];
  const env = { ...process.env, API: stack.url, TOKEN: `local-${as}` };
  const { stdout, stderr } = await run(process.execPath, flags, { env }).catch((error) => error);
  return stdout + (/^Error: .*$/m.exec(stderr) ?? "");
}

/** Renders the page that the example exports. */
const render = (argument: string) => `
  import { renderToStaticMarkup } from "react-dom/server";
  const page = await example.default(${argument});
  console.log(page instanceof Response ? page.status : renderToStaticMarkup(page));
`;
const nextPage = (slug: string) => render(`{ params: Promise.resolve({ slug: "${slug}" }) }`);
const astroPage = (slug: string) => render(`{ params: { slug: "${slug}" } }`);
const osamuTezuka = /^<main><h1>Osamu Tezuka<\/h1><ul><li><b>Astro Boy<\/b> A robot boy/;

const panel = (image: string) => `
  console.log(await example.whoAmI());
  const file = await (await fetch("${image}")).blob();
  const id = await example.add("Machiko", "Hasegawa", file);
  await example.list("hasegawa", 0);
  const opened = await example.open(id);
  console.log(await example.save(opened, { gender: "female" }));
  console.log(await example.save(opened, { type: "artist" }));
  console.log(await example.save(await example.open(id), { aliases: ["\\n"] }));
  const { data } = await example.setAvatar(await example.open(id), file);
  console.log(data.image !== opened.data.image, data.gender, data.type);
  await (await example.open(id)).close();
`;

interface Example {
  readonly what: string;
  readonly file: string;
  /** What calls the example. */
  readonly driver?: string;
  readonly as?: "nobody" | "editor" | "administrator";
  readonly printed: RegExp;
  readonly changes?: readonly unknown[];
}
const examples: readonly Example[] = [
  {
    what: "a website",
    file: "Website.ts",
    printed: /^\{ links: \[ '\/osamu-tezuka: Osamu Tezuka' \], pages: 1 \}\n7\n$/,
  },
  { what: "a page of Next.js", file: "next-page.js", driver: nextPage("osamu-tezuka"), printed: osamuTezuka },
  { what: "a missing page of Next.js", file: "next-page.js", driver: nextPage("unknown"), printed: /^Error: 404$/ },
  { what: "a page of Astro", file: "astro-page.js", driver: astroPage("osamu-tezuka"), printed: osamuTezuka },
  { what: "a missing page of Astro", file: "astro-page.js", driver: astroPage("unknown"), printed: /^404$/m },
  {
    what: "whole lists",
    file: "whole-lists.ts",
    printed: /^\d+ publishers\n(50 of (\d+)\n)+(\d+ of \2\n)\2 lines\n$/,
  },
  { what: "a mock of the service", file: "mock.ts", printed: /^Kodansha\n$/ },
  { what: "queries of TanStack", file: "tanstack-query.ts", as: "editor", printed: /^\[ 'Urasawa' \]\n$/ },
  {
    what: "users and roles",
    file: "users-and-roles.ts",
    as: "administrator",
    printed: /^saved\nsaved\n$/,
    changes: [
      "changes + admin-roles/edit",
      "changes + admin-users/edit",
      'roles.name: "Auditor" -> "Reviewer"',
      expect.stringMatching(/^user_roles \+/),
    ],
  },
  {
    what: "a panel",
    file: "Panel.ts",
    driver: panel(dataUrl(await plain().png().toBuffer())),
    as: "editor",
    printed:
      /^\{ name: 'editor', mayDelete: false \}\n\d+ Machiko is a draft of website 1\n1 of 1\n(Saved\n){2}Wrong aliases: Invalid parameter: added_aliases\ntrue female artist\n$/,
    changes: [
      "changes + admin-contributors/add",
      "changes + admin-contributors/edit",
      "changes + admin-contributors/edit",
      "changes + admin-contributors/update-avatar",
      "changes + admin-contributors/update-avatar",
      expect.stringMatching(/^contributors \+ .*"type":"artist","image":".*"gender":"female"/),
      expect.stringMatching(/^images_to_remove \+/),
    ],
  },
];

async function compile(files: readonly string[], ...libraries: readonly string[]): Promise<string> {
  const strict = ["--noEmit", "--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes"];
  const target = ["--target", "es2024", "--module", "nodenext", "--resolveJsonModule", "--jsx", "react-jsx"];
  const words = [...strict, ...target, ...libraries, ...files];
  return (await run(join(root, "node_modules/.bin/tsc"), words, { cwd: project }).catch((error) => error)).stdout;
}

it("The client's package has the service's version, is installed from a tarball, alone, and is smaller than 90 kB without the OpenAPI document", async () => {
  const program = `
    import { createClient } from "colophon-client";
    import document from "colophon-client/openapi.json" with { type: "json" };
    console.log(typeof createClient("http://localhost:3000").GET, document.openapi);
  `;
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", program], { cwd: project });
  expect(stdout).toBe("function 3.1.1\n");

  expect(installed).toEqual([manifest.name]);
  expect(manifest).toMatchObject({ version: service.version, sideEffects: false });
  expect(manifest).not.toHaveProperty("scripts");
  const folder = join(project, "node_modules", manifest.name);
  const files = await readdir(folder);
  expect(files.sort()).toEqual(["README.md", ...manifest.files, "package.json"].sort());
  const small = files.filter((file) => file !== "openapi.json").map((file) => stat(join(folder, file)));
  expect((await Promise.all(small)).reduce((sum, { size }) => sum + size, 0)).toBeLessThan(90_000);
});

describe("The examples of the client", () => {
  it("are accepted by the compiler, as strict as it can be", async () => {
    const files = (await readdir(project)).filter((file) => /^(?!main).*\.tsx?$/.test(file));

    expect(await compile(files, "--lib", "es2024,dom,dom.iterable", "--types", "", "--skipLibCheck")).toBe("");
    expect(files).toHaveLength(12);
  });

  it("are accepted where there is no DOM, with Node's types, and so are the package's types themselves", async () => {
    expect(await compile(["Website.ts", "whole-lists.ts"], "--lib", "es2024", "--types", "node")).toBe("");
    expect(await compile(["Website.ts"], "--lib", "es2024", "--types", "")).toContain("Cannot find name 'Response'");
  });

  it.each(examples)(
    "run, and change only what they are to change: $what",
    async ({ file, driver = "", as = "nobody", printed, changes = [] }) => {
      let text = "";

      const difference = await differenceBy(stack.sql, async () => {
        text = await runExample(file, as, driver);
      });

      expect(text).toMatch(printed);
      expect(difference).toEqual(changes);
    },
  );
});
