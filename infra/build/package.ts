import { execFile } from "node:child_process";
import { cp, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import lock from "../../package-lock.json" with { type: "json" };
import { newCommand, runCommand } from "../command/command.ts";
import { type BuiltFunction, build, checkSizes } from "./build.ts";

export type Packaged = Awaited<ReturnType<typeof assemble>>;

/**
 * Prepares the folder of every function for the upload: sharp cannot be bundled, so its build for Lambda's machines is
 * copied beside the functions that load it. The first run needs the npm registry.
 * @param offline uses the sharp that an earlier run has installed, if any, and does not ask the npm registry
 */
export async function packageFunctions(built: readonly BuiltFunction[], { offline = false } = {}): Promise<Packaged[]> {
  const modules = offline ? await cachedSharp() : await installSharp();
  return await Promise.all(built.map((each) => assemble(each, modules)));
}

/** Copies the modules beside a bundle that needs them, and finds out what else it needs. */
async function assemble(built: BuiltFunction, modules?: string) {
  const { file, sources, externals } = built;
  const processesImages = externals.includes("sharp");
  if (processesImages && modules) await cp(modules, join(dirname(file), "node_modules"), { recursive: true });
  return {
    ...built,
    /** Whether it loads sharp, which is uploaded with it. */
    processesImages,
    /** False when it needs sharp and sharp is not installed: it can be synthesised, but not deployed. */
    isComplete: !processesImages || modules !== undefined,
    /** Whether it opens transactions: to migrate, or to read a response that exceeds a result of the Data API. */
    usesTransactions: sources.includes("lib/data-api/transaction.ts"),
    /** The environment variables that it reads. */
    variables: new Set((await Promise.all(sources.map(variablesOf))).flat()),
  };
}

async function variablesOf(source: string): Promise<string[]> {
  const code = await readFile(join(root, source), "utf8");
  return [...code.matchAll(/process\.env\.([A-Z_]+)/g)].flatMap(([, variable]) => variable ?? []);
}

/** Lambda's machines; by default npm would choose the build for this one (sharp, "Cross-platform"). */
const platform = { os: "linux", cpu: "arm64", libc: "glibc" } as const;

const root = join(import.meta.dirname, "../..");
const versionOfSharp = lock.packages["node_modules/sharp"].version;
const kept = join(root, "node_modules/.cache/colophon", `sharp-${versionOfSharp}-${Object.values(platform).join("-")}`);
const cachedModules = join(kept, "node_modules");

const cachedSharp = async () => ((await stat(cachedModules).catch(() => undefined)) ? cachedModules : undefined);

const run = promisify(execFile);

/**
 * Installs the versions of the lock file, so that a function stays the same until the lock file changes.
 * @returns the node_modules that has it
 */
async function installSharp(): Promise<string> {
  if (await cachedSharp()) return cachedModules;
  const draft = `${kept}-${process.pid}`;
  await mkdir(draft, { recursive: true });
  await writeFile(join(draft, "package.json"), JSON.stringify({ dependencies: { sharp: versionOfSharp } }));
  await writeFile(join(draft, "package-lock.json"), JSON.stringify(lockOfSharp()));
  const flags = Object.entries(platform).map(([name, value]) => `--${name}=${value}`);
  await run("npm", ["ci", ...flags, "--ignore-scripts", "--no-audit", "--no-fund", "--no-bin-links"], { cwd: draft });
  // npm's own notes are no part of a function.
  await rm(join(draft, "node_modules/.package-lock.json"));
  // Another run may have been faster.
  await rename(draft, kept).catch(() => rm(draft, { recursive: true }));
  return cachedModules;
}

interface Locked {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** What the lock file has of sharp and all its dependencies, for any machine; npm installs those for Lambda's. */
function lockOfSharp(): object {
  const all = lock.packages as Readonly<Record<string, Locked>>;
  const needed: Record<string, Locked> = {};
  const take = (name: string, parent: string) => {
    const path = [`${parent}/node_modules/${name}`, `node_modules/${name}`].find((each) => each in all) ?? "";
    const found = all[path];
    if (!found || path in needed) return;
    needed[path] = found;
    for (const each in { ...found.dependencies, ...found.optionalDependencies }) take(each, path);
  };
  take("sharp", "");
  const packages = { "": { dependencies: { sharp: versionOfSharp } }, ...needed };
  return { lockfileVersion: lock.lockfileVersion, packages };
}

if (import.meta.main) {
  const command = newCommand("npm run package").description(
    "Builds as npm run build does, and puts sharp for Lambda's arm64 beside the functions that need it.",
  );
  await runCommand(
    command.action(async () => {
      const packaged = await packageFunctions(await build({ outdir: join(root, "dist") }));
      checkSizes(packaged);
      for (const { name } of packaged.filter(({ processesImages }) => processesImages))
        console.log(`${name} ships sharp`);
    }),
  );
}
