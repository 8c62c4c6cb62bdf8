import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import manifest from "../../../lib/client/package.json" with { type: "json" };
import { type Stack, startStack } from "../../support/stack.ts";

const root = join(import.meta.dirname, "../../..");
const run = promisify(execFile);
let stack: Stack;
let project: string;
let examples: readonly string[];

/** A project that has what is published of this package. */
async function aProject(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "colophon-client-"));
  const packages = join(directory, "node_modules");
  for (const file of ["package.json", ...manifest.files])
    await cp(join(root, "lib/client", file), join(packages, "colophon-client", file));
  await writeFile(join(directory, "package.json"), JSON.stringify({ type: "module" }));
  return directory;
}

/** What Node.js lacks of a browser: the page's cookie, here of the demo's editor. The first answer to a change is lost. */
const browserLike = (url: string) => `
  const send = fetch;
  let isLost = false;
  globalThis.fetch = async (...input) => {
    const request = new Request(...input);
    const headers = new Headers(request.headers);
    if (request.credentials === "include") headers.set("Cookie", "refreshToken=local-editor");
    const address = request.url.replace("http://localhost:3000", ${JSON.stringify(url)});
    const response = await send(new Request(address, new Request(request, { headers })));
    if (request.method === "GET" || isLost) return response;
    isLost = true;
    throw new TypeError("fetch failed");
  };
`;

beforeAll(async () => {
  stack = await startStack({ from: "demo" });
  project = await aProject();
  const readme = await readFile(join(root, "lib/client/README.md"), "utf8");
  examples = [...readme.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code = ""]) => code);
  await writeFile(join(project, "browser.mjs"), browserLike(stack.url));
  await Promise.all(examples.map((code, index) => writeFile(join(project, `example-${index}.ts`), code)));
});

afterAll(async () => {
  await stack.close();
  await rm(project, { recursive: true });
});

const runExample = async (index: number) => {
  const flags = ["--import", join(project, "browser.mjs"), join(project, `example-${index}.ts`)];
  return (await run(process.execPath, flags)).stdout;
};

describe("The examples of the client", () => {
  it("are accepted by the compiler, as strict as it can be", async () => {
    const flags = ["--noEmit", "--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes"];
    const target = ["--target", "es2024", "--module", "nodenext", "--lib", "es2024,dom", "--types", ""];
    const files = examples.map((_, index) => `example-${index}.ts`);

    const compiler = join(root, "node_modules/.bin/tsc");
    const { stdout } = await run(compiler, [...flags, ...target, ...files], { cwd: project }).catch((error) => error);

    expect(stdout).toBe("");
    expect(files).toHaveLength(2);
  });

  it("search the catalogue for the website", async () => {
    expect(await runExample(0)).toMatch(/'Rumiko Takahashi'.*next: undefined.*\n200 \[ 'Ursula Kroeber Le Guin' \]/s);
  });

  it("edit a contributor for the admin panel, once, although an answer is lost", async () => {
    expect(await runExample(1)).toBe("Saved\nChoose another name: Contributor with this Name exists already.\n");
    expect(await stack.sql`select from changes where endpoint = 'admin-contributors/edit'`).toHaveLength(1);
  });
});
