import { cp, mkdir, mkdtemp, readdir, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
/** What git ignores, and git's own. */
const left = /\/(?:\.git|node_modules|dist|cdk\.out|\.local|coverage)$/;

/** Copies the project, so that a test can edit its files. Returns the folder, which the test removes. */
export async function copyProject(): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), "colophon-project-"));
  await cp(root, copy, { recursive: true, filter: (source) => !left.test(source) });
  const modules = join(root, "node_modules");
  await mkdir(join(copy, "node_modules"));
  // With caches of its own.
  for (const name of await readdir(modules))
    if (name !== ".cache") await symlink(join(modules, name), join(copy, "node_modules", name));
  return copy;
}
