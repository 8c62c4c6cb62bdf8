import { readdirSync } from "node:fs";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type BuiltFunction, build } from "./build.ts";
import { cachedFolder } from "./cached-folder.ts";

const list = "functions.json";
/** No function loads the client, parts of which are made from the answers of the functions. */
const libraries = readdirSync(join(import.meta.dirname, "../../lib")).filter((name) => name !== "client");
const inputs = [
  "functions",
  ...libraries.map((name) => `lib/${name}`),
  ...["infra/build", "package-lock.json", "tsconfig.json"],
];

/**
 * Bundles every function, or copies the bundles of the same code. For folders that are as deep in the project as the
 * cache is, since source maps name the sources by their relative paths.
 */
export async function buildOrReuse({ outdir }: { readonly outdir: string }): Promise<BuiltFunction[]> {
  const kept = await cachedFolder("bundles", inputs, async (folder) => {
    const built = await build({ outdir: folder });
    const relative = built.map((each) => ({ ...each, file: `${each.endpointPath}/index.mjs` }));
    await writeFile(join(folder, list), JSON.stringify(relative));
  });
  await rm(outdir, { recursive: true, force: true });
  await mkdir(outdir, { recursive: true });
  await cp(kept, outdir, { recursive: true });
  const built: BuiltFunction[] = JSON.parse(await readFile(join(kept, list), "utf8"));
  return built.map((each) => ({ ...each, file: join(outdir, each.file) }));
}
