import { cp, mkdtemp, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
const parts = [
  ...["events", "functions", "lib", "infra", "test"],
  ...["README.md", "biome.json", "package.json", "package-lock.json", "tsconfig.json", "vitest.config.ts"],
];

/** Copies the project, so that a test can edit its files. Returns the folder, which the test removes. */
export async function copyProject(): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), "colophon-project-"));
  for (const part of parts)
    await cp(join(root, part), join(copy, part), {
      recursive: true,
      filter: (source) => !source.endsWith("node_modules"),
    });
  await symlink(join(root, "node_modules"), join(copy, "node_modules"));
  return copy;
}
