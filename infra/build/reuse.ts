import { createHash } from "node:crypto";
import { cp, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type BuiltFunction, build } from "./build.ts";

const root = join(import.meta.dirname, "../..");
const cache = join(root, "node_modules/.cache/colophon");
const prefix = "bundles-";
const list = "functions.json";
const keptInMilliseconds = 24 * 60 * 60_000;

/**
 * Bundles every function, or copies the bundles of the same code. For folders that lie as deep beneath the root as the
 * cache does, since source maps name the sources by their relative paths.
 */
export async function buildOrReuse({ outdir }: { readonly outdir: string }): Promise<BuiltFunction[]> {
  const kept = await keptBundles();
  await utimes(kept, new Date(), new Date());
  await rm(outdir, { recursive: true, force: true });
  await mkdir(outdir, { recursive: true });
  await cp(kept, outdir, { recursive: true });
  const built: BuiltFunction[] = JSON.parse(await readFile(join(kept, list), "utf8"));
  return built.map((each) => ({ ...each, file: join(outdir, each.file) }));
}

async function keptBundles(): Promise<string> {
  const hash = await hashOfCode();
  const kept = join(cache, `${prefix}${hash}`);
  if (await stat(kept).catch(() => undefined)) return kept;
  // Under another name until it is whole, since others may look for it.
  const draft = `${kept}-${process.pid}`;
  const built = await build({ outdir: draft });
  await writeFile(
    join(draft, list),
    JSON.stringify(built.map((each) => ({ ...each, file: `${each.stem}/index.mjs` }))),
  );
  const isEdited = (await hashOfCode()) !== hash;
  // The bundles of another process may be there by now.
  if (!isEdited) await rename(draft, kept).catch(() => {});
  await rm(draft, { recursive: true, force: true });
  await removeOld();
  return isEdited ? await keptBundles() : kept;
}

async function hashOfCode(): Promise<string> {
  const folders = await Promise.all(
    ["functions", "lib", "infra/build"].map(async (folder) =>
      (await readdir(join(root, folder), { recursive: true })).map((file) => join(folder, file)),
    ),
  );
  const files = [
    "package-lock.json",
    "tsconfig.json",
    ...folders.flat().filter((file) => /\.(ts|sql)$/.test(file)),
  ].sort();
  const hash = createHash("sha256").update(root);
  for (const file of files) hash.update(`${file}\0`).update(await readFile(join(root, file)));
  return hash.digest("hex").slice(0, 16);
}

async function removeOld(): Promise<void> {
  for (const name of await readdir(cache)) {
    const path = join(cache, name);
    const isOld = name.startsWith(prefix) && (await stat(path)).mtimeMs < Date.now() - keptInMilliseconds;
    if (isOld) await rm(path, { recursive: true, force: true });
  }
}
