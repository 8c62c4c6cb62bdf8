import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { join, relative, resolve } from "node:path";
import { type BuildFailure, type BuildOptions, build as bundle, formatMessages, type Metafile } from "esbuild";
import { endpointPath } from "../../lib/contract/declare.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { newCommand, runCommand } from "../command/command.ts";

export interface BuiltFunction {
  /** The Lambda's name without a stack's prefix: `admin-roles-list`. */
  readonly name: string;
  /** `admin-roles/list` */
  readonly endpointPath: string;
  readonly file: string;
  readonly bytes: number;
  /** The project's own files in it: `lib/data-api/client.ts`. */
  readonly sources: readonly string[];
  /** The packages that it loads and does not contain. */
  readonly externals: readonly string[];
}

const root = join(import.meta.dirname, "../..");

/**
 * Bundles that are ES modules still meet CommonJS packages that call `require`. esbuild does not look in here, so no
 * bundled code may have the name.
 */
const banner = "import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);";

const changes = join(root, "lib/changes");

/** The schema of the database functions of this release (lib/changes), named after their content. */
function releaseSchema(): string {
  const hash = createHash("sha256");
  for (const file of globSync("*.{sql,ts}", { cwd: changes }).sort()) hash.update(readFileSync(join(changes, file)));
  return `changes_${hash.digest("hex").slice(0, 12)}`;
}

/** esbuild's options for code that runs on Lambda, new for each build: the schema's name changes with lib/changes. */
export const bundling = () =>
  ({
    bundle: true,
    minifyWhitespace: true,
    minifySyntax: true,
    // Stacks on AWS have the names of functions. Source maps would double the zip, and reading them costs a tenth of a
    // cold start's CPU; names add a quarter to the zip, and nothing that can be measured to the start.
    minifyIdentifiers: false,
    format: "esm",
    platform: "node",
    target: "node24",
    // Packages' ES module builds are a third smaller than what Node would choose, and load twice as fast.
    mainFields: ["module", "main"],
    external: ["sharp"],
    alias: {
      "@aws-sdk/credential-provider-node": join(import.meta.dirname, "lambda-credentials.ts"),
      "@smithy/core/event-streams": join(import.meta.dirname, "event-streams.ts"),
    },
    banner: { js: banner },
    loader: { ".sql": "text" },
    define: { "process.env.RELEASE_SCHEMA": JSON.stringify(releaseSchema()) },
    legalComments: "none",
  }) satisfies BuildOptions;

const functions = join(root, "functions");

/** esbuild's options for functions: each becomes `<outdir>/<path>/index.mjs`, with its source map beside it, for this machine. */
const bundlingOf = (endpointPaths: readonly string[], outdir: string) =>
  ({
    entryPoints: endpointPaths.map((endpointPath) => ({
      in: join(functions, `${endpointPath}.ts`),
      out: `${endpointPath}/index`,
    })),
    outdir: resolve(outdir),
    outExtension: { ".js": ".mjs" },
    absWorkingDir: root,
    ...bundling(),
    sourcemap: "linked",
    sourcesContent: false,
    metafile: true,
  }) satisfies BuildOptions;

export interface Build {
  readonly outdir: string;
  /** Whether what functions have in common is in files beside them, so that a process that runs all loads it once. */
  readonly isShared?: boolean;
}

/** Bundles every function. */
export async function build({ isShared = false, ...options }: Build): Promise<BuiltFunction[]> {
  const outdir = resolve(options.outdir);
  const endpointPaths = globSync("**/*.ts", { cwd: functions })
    .sort()
    .map((file) => file.replace(/\.ts$/, ""));
  await rm(outdir, { recursive: true, force: true });
  await mkdir(outdir, { recursive: true });
  const { metafile } = await bundle({
    ...bundlingOf(endpointPaths, outdir),
    splitting: isShared,
    logLevel: "warning",
  });
  return endpointPaths.map((endpointPath) => {
    const file = join(outdir, endpointPath, "index.mjs");
    const outputs = outputsOf(metafile, relative(root, file));
    const inputs = outputs.flatMap((each) => Object.entries(each.inputs));
    const imports = outputs.flatMap((each) => each.imports);
    return {
      name: endpointPath.replaceAll("/", "-"),
      endpointPath,
      file,
      bytes: outputs.reduce((sum, { bytes }) => sum + bytes, 0),
      sources: inputs
        .filter(([each, { bytesInOutput }]) => bytesInOutput && !each.includes("node_modules/"))
        .map(([each]) => each),
      externals: imports.filter(({ external, path }) => external && !isBuiltin(path)).map(({ path }) => path),
    };
  });
}

/** A bundle, and all files beside it that it imports. */
function outputsOf({ outputs }: Metafile, file: string): Metafile["outputs"][string][] {
  const files = new Set([file]);
  for (const each of files) for (const { path } of outputs[each]?.imports ?? []) files.add(path);
  return [...files].flatMap((each) => outputs[each] ?? []);
}

/**
 * Bundles one function.
 * @throws with esbuild's messages and the lines that they are about, when the code is broken
 */
export async function buildOne(endpointPath: string, outdir: string): Promise<void> {
  try {
    await bundle({ ...bundlingOf([endpointPath], outdir), logLevel: "silent" });
  } catch (error) {
    const { errors } = error as Partial<BuildFailure>;
    if (!errors) throw error;
    throw new Error((await formatMessages(errors, { kind: "error" })).join("").trim(), { cause: error });
  }
}

const withTwoClients = new Set(
  endpoints.filter(({ needsFileService, deletesImage }) => needsFileService || deletesImage).map(endpointPath),
);

/** Functions that make slugs have the letters of all scripts (any-ascii), which take 4 ms of a cold start. */
const withSlugs = new Set(["admin-contributors/add", "ops/create-user", "ops/import"]);
const allScriptsBytes = 550_000;

/**
 * The size limit of a bundle, most of which is the SDK. A version of the SDK that imports what the build replaces by
 * another name exceeds it.
 */
const bytesMaxOf = (path: string): number => bytesMaxWithoutSlugs(path) + (withSlugs.has(path) ? allScriptsBytes : 0);

function bytesMaxWithoutSlugs(path: string): number {
  // To begin to sign in needs no client of the SDK, and people wait for its cold start.
  if (path === "sign-in/begin") return 180_000;
  // Those that migrate have every SQL file.
  if (path.startsWith("ops/migrate")) return 690_000;
  // They may need two clients, and an import has the schemas of its lines; no visitor waits for them.
  if (path.startsWith("ops/")) return 620_000;
  return withTwoClients.has(path) ? 620_000 : 410_000;
}

/** @throws when a bundle is too large, with the sizes of those */
export function checkSizes(built: readonly BuiltFunction[]): void {
  const tooLarge = built
    .filter(({ bytes, endpointPath: path }) => bytes > bytesMaxOf(path))
    .map(({ bytes, endpointPath: path }) => `${path} has ${bytes} bytes of at most ${bytesMaxOf(path)}`);
  if (tooLarge.length > 0)
    throw new Error(`Over the size budget, so import less (infra/build/build.ts):\n${tooLarge.join("\n")}`);
}

if (import.meta.main) {
  const command = newCommand("npm run build").description(
    "Bundles every function to dist/, and fails when one is too large.",
  );
  await runCommand(
    command.action(async () => {
      const built = await build({ outdir: join(root, "dist") });
      for (const { name, bytes, file } of built) {
        console.log(`${name.padEnd(36)} ${(bytes / 1000).toFixed(0).padStart(5)} kB  ${relative(root, file)}`);
      }
      checkSizes(built);
    }),
  );
}
