import { cp, mkdir, mkdtemp, readdir, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
const parts = [
  ...[".github", "events", "functions", "lib", "infra", "test"],
  ...[".gitignore", "README.md", "biome.json", "cdk.json", "knip.json", "package.json", "package-lock.json"],
  ...["redocly.yaml", "tsconfig.json", "vitest.config.ts"],
];

/** Copies the project, so that a test can edit its files. Returns the folder, which the test removes. */
export async function copyProject(): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), "colophon-project-"));
  for (const part of parts)
    await cp(join(root, part), join(copy, part), {
      recursive: true,
      filter: (source) => !source.endsWith("node_modules"),
    });
  const modules = join(root, "node_modules");
  await mkdir(join(copy, "node_modules"));
  // With caches of its own.
  for (const name of await readdir(modules))
    if (name !== ".cache") await symlink(join(modules, name), join(copy, "node_modules", name));
  return copy;
}
