import { createHash, randomUUID } from "node:crypto";
import { readdir, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
const cache = join(root, "node_modules/.cache/colophon");
const retentionInMilliseconds = 24 * 60 * 60_000;

/**
 * A folder that is made from files of the project, and made again when one of them has changed.
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
    await removeOld(name);
  }
  await utimes(kept, new Date(), new Date());
  return kept;
}

async function hashOf(inputs: readonly string[]): Promise<string> {
  const files = await Promise.all(inputs.map(filesOf));
  const hash = createHash("sha256").update(root);
  for (const file of files.flat().sort()) hash.update(`${file}\0`).update(await readFile(join(root, file)));
  return hash.digest("hex").slice(0, 16);
}

async function filesOf(input: string): Promise<string[]> {
  if (!(await stat(join(root, input))).isDirectory()) return [input];
  const entries = await readdir(join(root, input), { recursive: true });
  return entries.filter((entry) => /\.(ts|sql|json)$/.test(entry)).map((entry) => join(input, entry));
}

async function removeOld(name: string): Promise<void> {
  for (const entry of await readdir(cache)) {
    if (!entry.startsWith(`${name}-`)) continue;
    const path = join(cache, entry);
    // Another process may have renamed its draft, or removed this folder.
    const found = await stat(path).catch(() => undefined);
    if (found && found.mtimeMs < Date.now() - retentionInMilliseconds) await rm(path, { recursive: true, force: true });
  }
}
