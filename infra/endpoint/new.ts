import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import { stem } from "../../lib/contract/declare.ts";
import { runCommand, UsageError } from "../command.ts";
import {
  changeTexts,
  contractText,
  eventText,
  functionText,
  type Plan,
  queryImports,
  queryText,
  testText,
} from "./templates.ts";

const usage =
  "npm run new -- GET|POST|DELETE /path/{id} [--permission view-users] [--list]\n" +
  "  --permission  the permission that callers need; a change needs one\n" +
  "  --list        a GET that answers a list";

/** The new endpoint. The rest is taken from the other endpoints of its resource. */
export interface NewEndpoint {
  readonly method: string;
  readonly path: string;
  readonly permission?: string | undefined;
  /** Whether a GET returns a list. */
  readonly list?: boolean;
}

/**
 * Writes all files of an endpoint, with `FILL_IN` for every decision; `npm run check` fails as long as one of these is
 * left.
 * @returns the files that were written or extended
 */
export async function writeEndpoint(root: string, endpoint: NewEndpoint): Promise<string[]> {
  const plan = await planOf(root, endpoint);
  const written: string[] = [];
  const write = async (file: string, text: string) => {
    await mkdir(dirname(join(root, file)), { recursive: true });
    await writeFile(join(root, file), text, { flag: "wx" });
    written.push(file);
  };
  const edit = async (file: string, change: (text: string) => string) => {
    await writeFile(join(root, file), change(await readFile(join(root, file), "utf8").catch(() => "")));
    written.push(file);
  };
  await write(`functions/${plan.stem}.ts`, functionText(plan));
  await write(`events/${plan.stem}.json`, eventText(plan));
  await write(`test/functions/${plan.stem}.test.ts`, testText(plan));
  await edit(plan.contract, (text) => text + contractText(plan));
  if (plan.kind !== "change") await edit(plan.queries, (text) => importsOf(plan, text) + text + queryText(plan));
  else {
    const { file, text, importLine, entry } = changeTexts(plan);
    await write(file, text);
    await edit("lib/changes/all.ts", (all) =>
      all.replace("\n\n", `\n${importLine}\n\n`).replace(/(?<=const changesAlone = \{\n)/, `${entry}\n`),
    );
  }
  await tidy(root, written);
  return written;
}

/** The imports that a file of queries lacks. */
const importsOf = (plan: Plan, text: string): string =>
  queryImports(plan)
    .filter(([names, module]) => {
      const name = /\w+(?= \}|$)/.exec(names)?.[0];
      return !new RegExp(`^import [^;]*\\b${name}\\b[^;]* from "${module}";$`, "m").test(text);
    })
    .map(([names, module]) => `import ${names} from "${module}";\n`)
    .join("");

/** Sorts and joins imports, and formats, as the check wants it. */
async function tidy(root: string, files: readonly string[]): Promise<void> {
  const flags = ["check", "--write", "--linter-enabled=false", "--vcs-enabled=false"];
  const biome = join(root, "node_modules/@biomejs/biome/bin/biome");
  await promisify(execFile)(process.execPath, [biome, ...flags, ...files], { cwd: root });
}

async function planOf(root: string, { method, path, permission, list = false }: NewEndpoint): Promise<Plan> {
  if (!/^(GET|POST|DELETE)$/.test(method) || !/^(\/[a-z-]+)+(\/\{\w+\})?$/.test(path))
    throw new UsageError(`${method} ${path} is no method and path of an endpoint`);
  if (method !== "GET" && (!permission || list)) throw new UsageError("A change needs a --permission, and is no list");
  const resource = path.split("/")[1] ?? "";
  const contracts = await filesIn(join(root, "lib/contract"));
  const declares = (text: string, prefix: string) => text.includes(`path: "/${prefix}`);
  if (contracts.some(({ text }) => text.includes(`method: "${method}",\n  path: "${path}"`)))
    throw new Error(`${method} ${path} is declared already`);
  const contract = contracts.find(({ text }) => declares(text, `${resource}"`) || declares(text, `${resource}/`));
  if (!contract) throw new Error(`No endpoint begins with /${resource}: see the README for new resources`);
  const siblings = await filesIn(join(root, "functions", resource));
  const queries = siblings.map(({ text }) => /lib\/queries\/([\w-]+)\.ts/.exec(text)?.[1]).find(Boolean) ?? resource;
  const table = resource.replace(/^admin-/, "");
  const recordFunction = `${table.replace(/s$/, "")}_record`;
  const records = await readFile(join(root, "lib/changes/records.sql"), "utf8");
  return {
    method: method as Plan["method"],
    path,
    permission,
    stem: stem({ path: path as `/${string}` }),
    kind: method === "GET" ? (list ? "list" : "record") : "change",
    contract: relative(root, contract.file),
    queries: `lib/queries/${queries}.ts`,
    table,
    recordFunction: records.includes(`create function ${recordFunction}(`) ? recordFunction : "FILL_IN",
  };
}

const filesIn = async (directory: string) =>
  await Promise.all(
    (await readdir(directory).catch(() => []))
      .filter((name) => name.endsWith(".ts"))
      .map(async (name) => ({
        file: join(directory, basename(name)),
        text: await readFile(join(directory, name), "utf8"),
      })),
  );

if (import.meta.main) {
  const flags = { permission: { type: "string" }, list: { type: "boolean" } } as const;
  await runCommand({ usage, flags, count: { min: 2, max: 2 } }, async (values, [method = "", path = ""]) => {
    const written = await writeEndpoint(join(import.meta.dirname, "../.."), { method, path, ...values });
    console.log(`${written.join("\n")}\n\nReplace each FILL_IN there; npm run check lists what is missing.`);
  });
}
