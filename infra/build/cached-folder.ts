import { createHash, randomUUID } from "node:crypto";
import { existsSync, globSync, readdirSync, rmSync } from "node:fs";
import { access, constants, mkdir, readdir, readFile, rename, rm, stat, symlink, utimes } from "node:fs/promises";
import { extname, join } from "node:path";

const root = join(import.meta.dirname, "../..");
let cache = join(root, "node_modules/.cache/colophon");
/** Of one name: one for each of two branches. */
const keptMax = 2;
const unusedInMilliseconds = 10 * 60_000;
const touchInMilliseconds = 60_000;

/**
 * Keeps the folders of this process elsewhere if this user cannot write to the project.
 * @param folder where bundles find the project's packages, too
 */
export async function moveUnwritableCache(folder: string): Promise<void> {
  try {
    await mkdir(cache, { recursive: true });
    await access(cache, constants.W_OK);
  } catch {
    cache = folder;
    await mkdir(cache, { recursive: true });
    await rm(join(cache, "node_modules"), { force: true });
    await symlink(join(root, "node_modules"), join(cache, "node_modules"));
  }
}

/**
 * A folder that is made from files of the project, and made again when one of them has changed. Earlier ones are removed
 * unless a process uses them.
 * @param name distinguishes it from other such folders
 * @param inputs the files and folders that it is made from, relative to the project
 * @param make fills the empty folder that it gets
 */
export async function cachedFolder(
  name: string,
  inputs: readonly string[],
  make: (folder: string) => Promise<unknown>,
): Promise<string> {
  const hash = await hashOf(inputs);
  const kept = join(cache, `${name}-${hash}`);
  if (!(await stat(kept).catch(() => undefined))) {
    // Under another name until it is whole, since another process may look for it.
    const draft = `${kept}-${randomUUID()}`;
    try {
      await make(draft);
      if ((await hashOf(inputs)) !== hash) return await cachedFolder(name, inputs, make);
      // Another process may have made it meanwhile.
      await rename(draft, kept).catch(() => {});
    } finally {
      await rm(draft, { recursive: true, force: true });
    }
    await removeUnused(name);
  }
  await touch(kept);
  used.set(name, kept);
  return kept;
}

/** The folder of each name that this process uses. Touched regularly, it is not removed by another process. */
const used = new Map<string, string>();

const touch = (folder: string) => utimes(folder, new Date(), new Date());

setInterval(() => {
  for (const folder of used.values()) void touch(folder).catch(() => {});
}, touchInMilliseconds).unref();

async function hashOf(inputs: readonly string[]): Promise<string> {
  const files = globSync(
    inputs.flatMap((each) => [each, `${each}/**/*.{ts,tsx,js,css,sql,json,jsonl}`]),
    { cwd: root },
  );
  const hash = createHash("sha256").update(root);
  for (const file of files.filter((each) => extname(each)).sort())
    hash.update(`${file}\0`).update(await readFile(join(root, file)));
  return hash.digest("hex").slice(0, 16);
}

async function removeUnused(name: string): Promise<void> {
  const isOfName = new RegExp(`^${name}-[0-9a-f]{16}`);
  const paths = (await readdir(cache)).filter((entry) => isOfName.test(entry)).map((entry) => join(cache, entry));
  // Another process may have renamed its draft, or removed a folder.
  const usedAt = async (path: string) => (await stat(path).catch(() => undefined))?.mtimeMs ?? 0;
  const folders = await Promise.all(paths.map(async (path) => ({ path, usedAt: await usedAt(path) })));
  for (const { path, usedAt } of folders.sort((one, other) => other.usedAt - one.usedAt).slice(keptMax))
    if (usedAt < Date.now() - unusedInMilliseconds) await rm(path, { recursive: true, force: true });
}

const compiledFilesMax = 5_000;

/**
 * The folder where Node keeps what it compiles (`NODE_COMPILE_CACHE`). Node removes nothing, not even what belongs to files
 * that are gone, so a folder that has grown is emptied.
 */
export function compileCache(name = "compiled"): string {
  const folder = join(cache, name);
  if (existsSync(folder) && readdirSync(folder, { recursive: true }).length > compiledFilesMax)
    rmSync(folder, { recursive: true, maxRetries: 3 });
  return folder;
}
