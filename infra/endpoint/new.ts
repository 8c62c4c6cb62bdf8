import { existsSync, globSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { type Declaration, endpointPath, routesOf, wholeSegment } from "../../lib/contract/declare.ts";
import { endpointAt, endpoints, resources } from "../../lib/contract/endpoints.ts";
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
 * Copies an endpoint under another path, as text with other names: declaration, function, event, and the change if it
 * makes one. The copy works as its sibling does, and reads by the sibling's query. Tests are not copied, since siblings
 * share theirs.
 * @returns the files that were written or extended
 */
export async function copyEndpoint(root: string, input: NewEndpoint): Promise<string[]> {
  const { method, path, like } = input;
  const sibling = expectNew(input);
  const name = endpointPath({ path: path as `/${string}`, response: sibling.response });
  const read = (file: string) => readFile(join(root, file), "utf8");
  const [handler, event] = await Promise.all([read(`functions/${like}.ts`), read(`events/${like}.json`)]);
  const declared = nameIn(sibling);
  const newDeclared = nameOf(name, method, declared);
  const [, change] = /\bchange\("(\w+)"/.exec(handler) ?? [];
  const newChange = newDeclared.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const names = {
    [withoutParameter(sibling.path)]: withoutParameter(path),
    [like]: name,
    [declared]: newDeclared,
    [JSON.parse(event).requestContext.requestId]: crypto.randomUUID(),
    ...(change && { [change]: newChange }),
  };
  /** Adds a copy behind a part of a text. */
  const withCopy = (text: string, part: string, end: string) =>
    text.replace(part, () => `${part}${end}${renamed(part, names)}`);

  const depth = "../".repeat(name.split("/").length);
  const texts = {
    [`functions/${name}.ts`]: renamed(handler, names).replaceAll(/"(\.\.\/)+/g, `"${depth}`),
    [`events/${name}.json`]: renamed(event, names),
  };
  for (const file of globSync("lib/contract/*.ts", { cwd: root })) {
    const text = await read(file);
    const declaration = paragraphIn(text, `export const ${declared} = `);
    if (declaration) texts[file] = withCopy(text, declaration, "\n\n");
  }
  if (change) {
    const definition = paragraphIn(await read(fileOf(change)), ` function ${change}(`) ?? "";
    // A longer path would make the first line of the comment too long.
    texts[fileOf(newChange)] = `${renamed(definition, names).replace(/^(-- \w+ \S+) /, "$1\n-- ")}\n`;
    const list = await read("lib/changes/all.ts");
    const [terms = ""] = new RegExp(`^  ${change}: .*\n`, "m").exec(list) ?? [];
    texts["lib/changes/all.ts"] = withCopy(list, terms, "").replace(
      new RegExp(`(?<=^  ${newChange}: .*table: )"\\w+"`, "m"),
      `"${tableOf(name)}"`,
    );
  }
  for (const [file, text] of Object.entries(texts)) {
    await mkdir(dirname(join(root, file)), { recursive: true });
    await writeFile(join(root, file), text);
  }
  return Object.keys(texts);
}

/** First segments that something else serves: the edge, the local service, and API Gateway for its health checks. */
const reserved: Readonly<Record<string, string>> = {
  [wholeSegment.slice(1)]: "the edge for whole lists",
  docs: "the local service for the reference",
  images: "the local service for images",
  provider: "the local service for its OpenID provider",
  ping: "API Gateway",
  sping: "API Gateway",
};

/**
 * @returns the sibling
 * @throws {UsageError} if the sibling cannot be copied, or the endpoint exists
 */
function expectNew({ method, path, like }: NewEndpoint): Declaration {
  if (!/^(\/[a-z-]+)+(\/\{\w+\})?$/.test(path))
    throw new UsageError(`${path} is no path of an endpoint, such as /publisher/random or /publisher/works/{id}`);
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
  return sibling;
}

const withoutParameter = (path: string) => path.replace(/\/\{\w+\}$/, "");

/** The name of a declaration in lib/contract. */
const nameIn = (declaration: Declaration): string =>
  Object.values(resources)
    .flatMap((each) => Object.entries(each))
    .find(([, each]) => each === declaration)?.[0] ?? "";

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

/** The paragraph of a file that has this text. Paragraphs begin in column one behind an empty line. */
const paragraphIn = (text: string, part: string): string | undefined =>
  text
    .trimEnd()
    .split(/\n\n(?=[^\s)\]}])/)
    .find((paragraph) => paragraph.includes(part));

if (import.meta.main) {
  await runCommand(
    command.action(async (method, path, { like }) => {
      const root = join(import.meta.dirname, "../..");
      const files = await copyEndpoint(root, { method, path, like });
      print(`${files.map((file) => relative(process.cwd(), join(root, file))).join("\n")}

It responds as ${like} does. Now change what is different: the declaration (summary, permission, parameters, response,
errors), the query that the function calls or the change, and the event. Write its tests in test/functions, with the
title ${method} ${path}. Then run npm run format, npm run openapi, npm run statements, npm run check, and its tests.`);
    }),
  );
}
