import { readdirSync } from "node:fs";
import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type BuiltFunction, build, buildOne } from "./build.ts";
import { cachedFolder } from "./cached-folder.ts";

const list = "functions.json";
/** No function loads the client and the recorded statements, which are made from what the functions do. */
const libraries = readdirSync(join(import.meta.dirname, "../../lib")).filter((name) => name !== "client");
const inputs = [
  "functions",
  ...libraries.flatMap((name) => [`lib/${name}/*.{ts,sql}`, `lib/${name}/!(statements)`]),
  ...["infra/build", "package-lock.json", "tsconfig.json"],
];

/**
 * Bundles every function, unless the same code has been bundled before.
 * @param isShared see `build`
 * @returns the functions and their folder, which is not to be changed: other processes use it, too
 */
export async function cachedBuild({ isShared = false } = {}) {
  const outdir = await cachedFolder(isShared ? "shared-bundles" : "bundles", inputs, async (folder) => {
    const built = await build({ outdir: folder, isShared });
    const relative = built.map((each) => ({ ...each, file: `${each.endpointPath}/index.mjs` }));
    await writeFile(join(folder, list), JSON.stringify(relative));
  });
  return { outdir, functions: await functionsIn(outdir) };
}

async function functionsIn(outdir: string): Promise<BuiltFunction[]> {
  const built: BuiltFunction[] = JSON.parse(await readFile(join(outdir, list), "utf8"));
  return built.map((each) => ({ ...each, file: join(outdir, each.file) }));
}

/**
 * Copies the bundles to where they may be changed: to a folder that is as deep in the project as the cache is, since source
 * maps name the sources by their relative paths.
 */
export async function copyBuild(outdir: string): Promise<BuiltFunction[]> {
  const { outdir: kept } = await cachedBuild();
  await rm(outdir, { recursive: true, force: true });
  await cp(kept, outdir, { recursive: true });
  return await functionsIn(outdir);
}

/**
 * Bundles one function, unless the same code has been bundled before.
 * @returns the file of its bundle
 */
export async function cachedBuildOf(endpointPath: string): Promise<string> {
  const name = `edited-${endpointPath.replaceAll("/", "-")}`;
  const folder = await cachedFolder(name, inputs, (draft) => buildOne(endpointPath, draft));
  return join(folder, endpointPath, "index.mjs");
}
