import { execFile } from "node:child_process";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import manifest from "../package.json" with { type: "json" };
import { type BuiltFunction, build } from "./build.ts";

export interface Packaged extends BuiltFunction {
  /** Whether sharp and its native code are shipped along. */
  readonly processesImages: boolean;
}

const run = promisify(execFile);

/** What Lambda runs: whatever machine this is, npm must not choose for it (sharp, "Cross-platform"). */
const platform = ["--os=linux", "--cpu=arm64", "--libc=glibc"];
const quietly = ["--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund"];

/**
 * Builds every function and makes its folder ready to be uploaded: sharp, which no bundle can hold, goes beside the
 * functions that load it, in the build for Lambda's machines. Needs the npm registry.
 */
export async function packageFunctions({ outdir }: { readonly outdir: string }): Promise<Packaged[]> {
  const built = await build({ outdir });
  const packaged = await Promise.all(built.map(inspect));
  const modules = await installSharp(join(outdir, ".sharp"));
  for (const { file, processesImages } of packaged) {
    if (processesImages) await cp(modules, join(dirname(file), "node_modules"), { recursive: true });
  }
  return packaged;
}

async function inspect(built: BuiltFunction): Promise<Packaged> {
  return { ...built, processesImages: /from"sharp"/.test(await readFile(built.file, "utf8")) };
}

/** @returns the node_modules that has it */
async function installSharp(directory: string): Promise<string> {
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, "package.json"), JSON.stringify({ private: true }));
  await run("npm", ["install", ...platform, ...quietly, `sharp@${manifest.dependencies.sharp}`], { cwd: directory });
  return join(directory, "node_modules");
}

if (import.meta.main) {
  const packaged = await packageFunctions({ outdir: join(import.meta.dirname, "../dist") });
  for (const { name } of packaged.filter(({ processesImages }) => processesImages)) console.log(`${name} ships sharp`);
}
