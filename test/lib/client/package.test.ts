import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import manifest from "../../../lib/client/package.json" with { type: "json" };
import project from "../../../package.json" with { type: "json" };

const folder = join(import.meta.dirname, "../../../lib/client");
let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colophon-package-"));
  await writeFile(join(directory, "package.json"), JSON.stringify({ type: "module" }));
});

afterEach(() => rm(directory, { recursive: true }));

const run = async (file: string, ...words: string[]) =>
  (await promisify(execFile)(file, words, { cwd: directory })).stdout;

/** Without a network, so that nothing but the package is there to install. */
const install = (source: string) => run("npm", "install", "--offline", "--no-audit", "--no-fund", source);

const program = `
  import { createClient } from "colophon-client";
  import document from "colophon-client/openapi.json" with { type: "json" };
  console.log(typeof createClient("http://localhost:3000").GET, document.openapi);
`;

describe("The client's package", () => {
  it("is installed from its folder", async () => {
    await install(folder);

    expect(await run(process.execPath, "--input-type=module", "--eval", program)).toBe("function 3.1.1\n");
  });

  it("is installed from a tarball, alone, and is smaller than 64 kB without the OpenAPI document", async () => {
    await run("npm", "pack", "--silent", folder);
    await install(`./${manifest.name}-${manifest.version}.tgz`);

    expect(await run(process.execPath, "--input-type=module", "--eval", program)).toBe("function 3.1.1\n");
    const modules = join(directory, "node_modules");
    expect((await readdir(modules)).filter((name) => !name.startsWith("."))).toEqual([manifest.name]);
    const files = await readdir(join(modules, manifest.name));
    expect(files.sort()).toEqual(["README.md", ...manifest.files, "package.json"].sort());
    const sizes = files
      .filter((file) => file !== "openapi.json")
      .map(async (file) => (await stat(join(modules, manifest.name, file))).size);
    expect((await Promise.all(sizes)).reduce((sum, size) => sum + size)).toBeLessThan(64_000);
  });

  it("has the version of the service, no dependencies, and nothing to run when it is imported or installed", async () => {
    const packed = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));

    expect(packed).toMatchObject({ version: project.version, type: "module", sideEffects: false });
    for (const field of ["dependencies", "peerDependencies", "optionalDependencies", "scripts"])
      expect(packed).not.toHaveProperty(field);
  });
});
