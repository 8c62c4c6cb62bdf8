import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import { endpointPath, routesOf } from "../../lib/contract/declare.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { runCommand, UsageError } from "../command/command.ts";
import { print } from "../command/print.ts";

const usage =
  "npm run new -- GET|POST|DELETE /path/{id} --like SIBLING\n" +
  "  --like  the endpoint to copy, by its path in functions/, as publisher/random";

interface NewEndpoint {
  readonly method: string;
  readonly path: string;
  readonly like: string;
}

type Replace = (text: string) => string;

/**
 * Copies an endpoint under another path: declaration, function, event, query or change, each renamed. The copy works as
 * its sibling does. Tests are not copied, since siblings share theirs.
 * @returns the files that were written or extended
 */
export async function copyEndpoint(root: string, { method, path, like }: NewEndpoint): Promise<string[]> {
  const read = (file: string) => readFile(join(root, file), "utf8");
  const touched = new Set<string>();
  const write = async (file: string, text: string) => {
    touched.add(file);
    await mkdir(dirname(join(root, file)), { recursive: true });
    await writeFile(join(root, file), text);
  };
  const edit = async (file: string, replace: Replace) => await write(file, replace(await read(file)));

  if (!/^(\/[a-z-]+)+(\/\{\w+\})?$/.test(path)) throw new UsageError(`${path} is no path of an endpoint`);
  if (!existsSync(join(root, `functions/${like}.ts`))) throw new UsageError(`There is no functions/${like}.ts to copy`);
  const handler = await read(`functions/${like}.ts`);
  const [, declared = "", contract = ""] =
    /import \{ (\w+) \} from "[./]*\/(lib\/contract\/[\w-]+\.ts)"/.exec(handler) ?? [];
  const declaration = chunkOf(await read(contract), declared);
  const [, itsMethod, itsPath = ""] = /method: "(\w+)",\n\s+path: "([^"]+)"/.exec(declaration) ?? [];
  if (method !== itsMethod) throw new UsageError(`${like} is a ${itsMethod}, not a ${method}`);
  const parameterOf = (text: string) => /\{\w+\}/.exec(text)?.[0] ?? "no parameter";
  if (parameterOf(path) !== parameterOf(itsPath))
    throw new UsageError(`The path of ${like} has ${parameterOf(itsPath)}`);
  const existing = endpoints.find((each) => each.method === method && shareRoute(each.path, path as `/${string}`));
  if (existing) throw new UsageError(`${method} ${path} exists already, as ${endpointPath(existing)}`);
  const name = endpointPath({
    path: path as `/${string}`,
    response: /response: \{ list:/.test(declaration) ? { list: "" } : {},
  });
  if (existsSync(join(root, `functions/${name}.ts`))) throw new UsageError(`There is functions/${name}.ts already`);

  const newName = nameOf(name, method, declared);
  const [fixed = "", itsFixed = ""] = [path, itsPath].map((each) => each.replace(/\/\{\w+\}$/, ""));
  const renamed: Replace = (text) =>
    text
      .replaceAll(word(declared), newName)
      .replaceAll(`"${like}"`, `"${name}"`)
      .replaceAll(new RegExp(`(?<=["'\`} ])${itsFixed}(?=[/?"'\`.\\s])`, "g"), fixed)
      .replaceAll(/"(\.\.\/)+/g, (up) => `"${"../".repeat(up.split("/").length - 1 + depthOf(name) - depthOf(like))}`);

  await edit(contract, withCopy(declared, renamed));
  let copiedHandler = renamed(handler);
  const [, module = "", query = ""] = /\b(\w+)\.(\w+)\(/.exec(handler.slice(handler.indexOf("export "))) ?? [];
  const [, queries] = new RegExp(`\\* as ${module} from "[./]*/(lib/queries/[\\w-]+\\.ts)"`).exec(handler) ?? [];
  if (module && queries) {
    const [last = [], all = []] = [name.split("/").at(-1)?.split("-"), name.split(/[/-]/)];
    const isTaken = new RegExp(`\\b${camel(last)}\\b`).test(await read(queries));
    const newQuery = camel(isTaken ? all : last);
    await edit(
      queries,
      withCopy(query, (text) => text.replaceAll(word(query), newQuery)),
    );
    copiedHandler = copiedHandler.replace(`${module}.${query}(`, `${module}.${newQuery}(`);
  }
  const changes = await readdir(join(root, "lib/changes"));
  const change = [...handler.matchAll(/"(\w+)"/g)].find(([, each = ""]) =>
    changes.includes(`${dashed(each)}.sql`),
  )?.[1];
  const newChange = newName.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const ofChange: Replace = (text) =>
    [(each: string) => each, dashed, (each: string) => camel(each.split("_"))].reduce(
      (copy, form) => (change ? copy.replaceAll(word(form(change)), form(newChange)) : copy),
      text,
    );
  if (change) {
    const definition = chunksOf(await read(`lib/changes/${dashed(change)}.sql`)).find((chunk) =>
      chunk.includes(`create function ${change}(`),
    );
    await write(`lib/changes/${dashed(newChange)}.sql`, `${wrapped(renamed(ofChange(definition ?? "")))}\n`);
    await edit("lib/changes/all.ts", (text) =>
      text.replaceAll(/.*\n/g, (line) => (ofChange(line) === line ? line : line + ofChange(line))),
    );
    copiedHandler = copiedHandler.replaceAll(`"${change}"`, `"${newChange}"`);
  }
  await write(`functions/${name}.ts`, copiedHandler);
  const event = await read(`events/${like}.json`);
  const [request = ""] = /(?<="requestId": ")[^"]*/.exec(event) ?? [];
  const newRequest = crypto.randomUUID();
  const ofRequest: Replace = (text) => renamed(text).replaceAll(request, newRequest);
  await write(`events/${name}.json`, ofRequest(event));
  const statement = await read(`lib/queries/statements/${like}.sql`);
  await write(`lib/queries/statements/${name}.sql`, ofChange(ofRequest(statement)));
  await tidy(root, [...touched]);
  return [...touched];
}

/** Whether two paths have a route in common, whatever their parameters are called. */
function shareRoute(...paths: readonly [`/${string}`, `/${string}`]): boolean {
  const [some, others] = paths.map((path) => routesOf({ path }).map((route) => route.replace(/\{\w+\}/, "{}")));
  return some?.some((route) => others?.includes(route)) ?? false;
}

/** `publishers/countries` like `getRandomPublisher` is `getPublishersCountries`, and `POST admin-users/ban` is `banUser`. */
function nameOf(name: string, method: string, declared: string): string {
  const [resource = [], ...rest] = name
    .replace(/^admin-/, "")
    .split("/")
    .map((each) => each.split("-"));
  const [verb = ""] = /^[a-z]+/.exec(declared) ?? [];
  return method === "GET"
    ? camel([verb, ...resource, ...rest.flat()])
    : camel([...rest.flat(), ...resource]).replace(/s$/, "");
}

const depthOf = (name: string) => name.split("/").length;
const dashed = (name: string) => name.replaceAll("_", "-");
const camel = ([first = "", ...rest]: readonly string[]) =>
  first + rest.map((each) => each.charAt(0).toUpperCase() + each.slice(1)).join("");
/** With the comment above a database function in lines of at most 120 columns. */
const wrapped: Replace = (text) =>
  text.replace(/^(-- .*\n)+/, (comment) =>
    comment
      .replaceAll(/^-- |\n(?:-- )?/g, " ")
      .trim()
      .replaceAll(/(.{1,117})(?:\s+|$)/g, "-- $1\n"),
  );
/** A name as a word of its own, which dashes belong to. */
const word = (name: string) => new RegExp(`(?<![\\w-])${name}(?![\\w-])`, "g");

/** The top-level statements of a formatted file: only these are preceded by an empty line and begin in column one. */
const chunksOf = (text: string) => text.trimEnd().split(/\n\n(?=[^\s)\]}])/);
const exports = (name: string) => (chunk: string) => new RegExp(`^export (const|function) ${name}\\b`, "m").test(chunk);
const chunkOf = (text: string, name: string) => chunksOf(text).find(exports(name)) ?? "";

/** A file with the copy of one of its exports behind the original. */
const withCopy = (name: string, rename: Replace) => (text: string) =>
  `${chunksOf(text)
    .flatMap((chunk) => (exports(name)(chunk) ? [chunk, rename(chunk)] : [chunk]))
    .join("\n\n")}\n`;

/** Sorts imports, and formats, as the check wants it. */
async function tidy(root: string, files: readonly string[]): Promise<void> {
  const biome = join(root, "node_modules/@biomejs/biome/bin/biome");
  const sources = files.filter((file) => !file.endsWith(".sql"));
  const flags = ["check", "--write", "--linter-enabled=false", "--vcs-enabled=false"];
  await promisify(execFile)(process.execPath, [biome, ...flags, ...sources], { cwd: root });
}

if (import.meta.main) {
  const flags = { like: { type: "string" } } as const;
  await runCommand({ usage, flags, count: { min: 2, max: 2 } }, async ({ like }, [method = "", path = ""]) => {
    if (!like) throw new UsageError("--like is missing");
    const root = join(import.meta.dirname, "../..");
    const files = await copyEndpoint(root, { method, path, like });
    print(`${files.map((file) => relative(process.cwd(), join(root, file))).join("\n")}

It answers as ${like} does. Now change what is different: the declaration (summary, permission, parameters, response,
errors), then query or change, and event. Write its tests in test/functions, with the title ${method} ${path}. Then run
npm run openapi, npm run statements, npm run check, and its tests.`);
  });
}
