import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import manifest from "../../../lib/client/package.json" with { type: "json" };
import project from "../../../package.json" with { type: "json" };

const folder = join(import.meta.dirname, "../../../lib/client");

const program = `
  import { createClient } from "colophon-client";
  import document from "colophon-client/openapi.json" with { type: "json" };
  console.log(typeof createClient("http://localhost:3000").GET, document.openapi);
`;

it("The client's package has the service's version, is installed from a tarball, alone, and is smaller than 64 kB without the OpenAPI document", async () => {
  const cwd = await mkdtemp(join(tmpdir(), "colophon-package-"));
  onTestFinished(() => rm(cwd, { recursive: true }));
  const run = async (file: string, ...words: string[]) => (await promisify(execFile)(file, words, { cwd })).stdout;
  await writeFile(join(cwd, "package.json"), JSON.stringify({ type: "module" }));
  await run("npm", "pack", "--silent", folder);
  const tarball = `./${manifest.name}-${manifest.version}.tgz`;

  // Without a network, so that nothing but the package is there to install.
  await run("npm", "install", "--offline", "--no-audit", "--no-fund", tarball);

  expect(await run(process.execPath, "--input-type=module", "--eval", program)).toBe("function 3.1.1\n");
  const modules = join(cwd, "node_modules");
  expect((await readdir(modules)).filter((name) => !name.startsWith("."))).toEqual([manifest.name]);
  const files = await readdir(join(modules, manifest.name));
  expect(manifest).toMatchObject({ version: project.version, sideEffects: false });
  expect(manifest).not.toHaveProperty("scripts");
  expect(files.sort()).toEqual(["README.md", ...manifest.files, "package.json"].sort());
  const small = files.filter((file) => file !== "openapi.json").map((file) => stat(join(modules, manifest.name, file)));
  expect((await Promise.all(small)).reduce((sum, { size }) => sum + size, 0)).toBeLessThan(64_000);
});
