import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import { endpointPath, routesOf, wholeSegment } from "../../lib/contract/declare.ts";
import { endpointAt, endpoints } from "../../lib/contract/endpoints.ts";
import { newCommand, runCommand, UsageError } from "../command/command.ts";
import { print } from "../command/print.ts";

export const command = newCommand("npm run new")
  .description("Copies an endpoint under another path.")
  .argument("<method>", "GET, POST or DELETE")
  .argument("<path>", "/path/{id}")
  .requiredOption("--like <sibling>", "the endpoint to copy, by its path in functions/, as publisher/random");

interface NewEndpoint {
  readonly method: string;
  readonly path: string;
  readonly like: string;
}

/**
 * Copies an endpoint under another path: declaration, function, event, query or change, each renamed. The copy works as
 * its sibling does. Tests are not copied, since siblings share theirs.
 * @returns the files that were written or extended
 */
export async function copyEndpoint(root: string, input: NewEndpoint): Promise<string[]> {
  const { like } = input;
  const { name, renames } = expectNew(input);
  /** The new texts of files. They are written together, so a sibling that cannot be copied leaves nothing behind. */
  const texts = new Map<string, string>();
  const read = async (file: string) => texts.get(file) ?? (await readFile(join(root, file), "utf8"));
  /** Copies a file, with the names as they are by now. */
  const copy = async (file: string, newFile: string, adapt = (text: string) => text) =>
    texts.set(newFile, adapt(renamed(await read(file), renames)));
  /** Puts the copy of an export behind the original. */
  const copyExport = async (file: string, exported: string, newName: string) => {
    const head = new RegExp(`^(export (?:const|function) )${exported}\\b`, "m");
    const chunks = chunksOf(await read(file)).flatMap((chunk) =>
      head.test(chunk) ? [chunk, renamed(chunk.replace(head, `$1${newName}`), renames)] : chunk,
    );
    texts.set(file, `${chunks.join("\n\n")}\n`);
  };

  const handler = await read(`functions/${like}.ts`);
  const [, declared = "", contract = ""] = /\{ (\w+) \} from "[./]*(lib\/contract\/.+)"/.exec(handler) ?? [];
  const newDeclared = nameOf(name, input.method, declared);
  await copyExport(contract, declared, newDeclared);

  const [, module, queries = ""] = /\* as (\w+) from "[./]*(lib\/queries\/.+)"/.exec(handler) ?? [];
  const [, query = ""] = new RegExp(`\\b${module}\\.(\\w+)\\(`).exec(handler) ?? [];
  if (module) {
    await copyExport(queries, query, newDeclared);
    renames[`${module}.${query}`] = `${module}.${newDeclared}`;
  }
  // The copied query keeps the sibling's input, and would not find its own name imported.
  renames[declared] = newDeclared;

  const [, change] = /\bchange\("(\w+)"/.exec(handler) ?? [];
  if (change) {
    const newChange = newDeclared.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    renames[change] = newChange;
    await copy(fileOf(change), fileOf(newChange), (text) => {
      const definition = chunksOf(text).find((chunk) => chunk.includes(` function ${newChange}(`)) ?? "";
      // A longer path would make the first line of the comment too long.
      return `${definition.replace(/^(-- \w+ \S+) /, "$1\n-- ")}\n`;
    });
    const list = await read("lib/changes/all.ts");
    const [terms = ""] = new RegExp(`^  ${change}: .*\n`, "m").exec(list) ?? [];
    const newTerms = terms.replace(change, newChange).replace(/table: "\w+"/, `table: "${tableOf(name)}"`);
    texts.set("lib/changes/all.ts", list.replace(terms, terms + newTerms));
  }

  const depth = "../".repeat(name.split("/").length);
  await copy(`functions/${like}.ts`, `functions/${name}.ts`, (text) => text.replaceAll(/"(\.\.\/)+/g, `"${depth}`));
  renames[JSON.parse(await read(`events/${like}.json`)).requestContext.requestId] = crypto.randomUUID();
  await copy(`events/${like}.json`, `events/${name}.json`);
  await copy(`lib/queries/statements/${like}.sql`, `lib/queries/statements/${name}.sql`);
  for (const [file, text] of texts) {
    await mkdir(dirname(join(root, file)), { recursive: true });
    await writeFile(join(root, file), text);
  }
  await tidy(root, [...texts.keys()]);
  if (!change) return [...texts.keys()];
  await promisify(execFile)(process.execPath, [join(root, "infra/check/each-change.ts")]);
  return [...texts.keys(), "lib/changes/each-change.sql"];
}

/** First segments that something else serves: the edge, the local service, and API Gateway for its health checks. */
const reserved: Readonly<Record<string, string>> = {
  [wholeSegment.slice(1)]: "the edge for whole lists",
  docs: "the local service for the reference",
  images: "the local service for images",
  ping: "API Gateway",
  sping: "API Gateway",
};

/** @throws {UsageError} if the sibling cannot be copied, or the endpoint exists */
function expectNew({ method, path, like }: NewEndpoint) {
  if (!/^(\/[a-z-]+)+(\/\{\w+\})?$/.test(path)) throw new UsageError(`${path} is no path of an endpoint`);
  const [, first = ""] = path.split("/");
  if (reserved[first]) throw new UsageError(`/${first} is reserved by ${reserved[first]}`);
  const sibling = endpointAt(like);
  if (!sibling) throw new UsageError(`There is no endpoint ${like} to copy`);
  if (method !== sibling.method) throw new UsageError(`${like} is a ${sibling.method}, not a ${method}`);
  if (path.startsWith("/admin-") && !sibling.permission)
    throw new UsageError(`${like} needs no permission, and each path that begins with /admin- does`);
  const parameterOf = (text: string) => /\{\w+\}/.exec(text)?.[0] ?? "no parameter";
  if (parameterOf(path) !== parameterOf(sibling.path))
    throw new UsageError(`The path of ${like} has ${parameterOf(sibling.path)}`);
  const routes = routesOf({ path: path as `/${string}` });
  const isTaken = (route: string) => routes.includes(route);
  const existing = endpoints.find((each) => each.method === method && routesOf(each).some(isTaken));
  if (existing) throw new UsageError(`${method} ${path} exists already, as ${endpointPath(existing)}`);
  const name = endpointPath({ path: path as `/${string}`, response: sibling.response });
  if (existsSync(join(import.meta.dirname, `../../functions/${name}.ts`)))
    throw new UsageError(`There is functions/${name}.ts already`);
  const withoutParameter = (text: string) => text.replace(/\/\{\w+\}$/, "");
  const renames: Record<string, string> = { [withoutParameter(sibling.path)]: withoutParameter(path), [like]: name };
  return { name, renames };
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

const camel = ([first = "", ...rest]: readonly string[]) =>
  first + rest.map((each) => each.charAt(0).toUpperCase() + each.slice(1)).join("");

/** `roles` of `admin-roles/edit`. */
const tableOf = (name: string) => name.replace(/^admin-|\/.*/g, "");

const fileOf = (change: string) => `lib/changes/${change.replaceAll("_", "-")}.sql`;

/** A text with other names. A name is not part of a longer one. */
const renamed = (text: string, names: Readonly<Record<string, string>>) =>
  text.replaceAll(
    new RegExp(`(?<![\\w-])(${Object.keys(names).join("|")})(?![\\w-])`, "g"),
    (each) => names[each] ?? "",
  );

/** The top-level statements of a formatted file: only these are preceded by an empty line and begin in column one. */
const chunksOf = (text: string) => text.trimEnd().split(/\n\n(?=[^\s)\]}])/);

/** Sorts imports, and formats, as the check requires. */
async function tidy(root: string, files: readonly string[]): Promise<void> {
  const biome = join(root, "node_modules/@biomejs/biome/bin/biome");
  const sources = files.filter((file) => !file.endsWith(".sql"));
  const flags = ["check", "--write", "--linter-enabled=false", "--vcs-enabled=false"];
  await promisify(execFile)(process.execPath, [biome, ...flags, ...sources], { cwd: root });
}

if (import.meta.main) {
  await runCommand(
    command.action(async (method, path, { like }) => {
      const root = join(import.meta.dirname, "../..");
      const files = await copyEndpoint(root, { method, path, like });
      print(`${files.map((file) => relative(process.cwd(), join(root, file))).join("\n")}

It responds as ${like} does. Now change what is different: the declaration (summary, permission, parameters, response,
errors), then query or change, and event. Write its tests in test/functions, with the title ${method} ${path}. Then run
npm run openapi, npm run statements, npm run check, and its tests.`);
    }),
  );
}
