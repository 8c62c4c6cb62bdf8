import { globSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { endpointPath } from "../../lib/contract/declare.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { generated } from "./generate.ts";

const root = join(import.meta.dirname, "../..");

/** The paths of the files in a folder, without the folder and the extension. */
const pathsIn = (folder: string, extension: string) =>
  globSync(`**/*${extension}`, { cwd: join(root, folder) }).map((file) => file.slice(0, -extension.length));

/** All gaps in the endpoints, one per line: missing files, undeclared functions, an outdated generated file. */
function gaps(): string[] {
  const [functions, events] = [pathsIn("functions", ".ts"), pathsIn("events", ".json")];
  const served = endpoints.map(endpointPath);
  const tests = pathsIn("test/functions", ".test.ts").map((path) =>
    readFileSync(join(root, `test/functions/${path}.test.ts`), "utf8"),
  );
  const untested = endpoints
    .map(({ method, path }) => `${method} ${path}`)
    .filter((title) => !tests.some((text) => text.includes(`"${title}"`) || text.includes(`"${title} `)));
  const outdated = Object.entries(generated()).filter(([file, text]) => readFileSync(file, "utf8") !== text);
  const without = (paths: readonly string[], others: readonly string[]) =>
    paths.filter((each) => !others.includes(each));
  return [
    ...without(served, functions).map(
      (path) => `functions/${path}.ts is missing, and lib/contract declares its endpoint`,
    ),
    ...without(functions, events).map((path) => `events/${path}.json is missing: copy that of a similar function`),
    ...untested.map((title) => `No test in test/functions has the title ${title}, as in describe("${title}", …)`),
    ...without(functions, served)
      .filter((path) => !path.startsWith("ops/"))
      .map((path) => `functions/${path}.ts serves no declared endpoint: declare it in lib/contract`),
    ...without(events, functions).map((path) => `events/${path}.json belongs to no function`),
    ...outdated.map(([file]) => `${relative(root, file)} is out of date: npm run openapi`),
  ];
}

const found = gaps();
if (found.length > 0) {
  console.error(found.join("\n"));
  process.exitCode = 1;
}
