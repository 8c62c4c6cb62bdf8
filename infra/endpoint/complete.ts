import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { endpointPath } from "../../lib/contract/declare.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { callsFile, clientTypes } from "../api/client/calls.ts";
import { catalogueLinesFile, catalogueLinesText } from "../api/openapi/catalogue-lines.ts";
import { openApiText } from "../api/openapi/document.ts";
import { documentFile } from "../api/openapi/file.ts";

const root = join(import.meta.dirname, "../..");

const filesIn = async (folder: string) =>
  (await readdir(join(root, folder), { recursive: true })).map((file) => `${folder}/${file.replaceAll("\\", "/")}`);

/** All gaps in the endpoints, one per line: missing files, undeclared functions, an outdated generated file. */
export async function gaps(): Promise<string[]> {
  const all = (await Promise.all(["functions", "events", "test/functions"].map(filesIn))).flat();
  const has = new Set(all);
  const served = new Set(endpoints.map(endpointPath));
  const needed = all
    .filter((file) => /^functions\/.*\.ts$/.test(file))
    .map((file) => file.slice("functions/".length, -".ts".length));
  const tests = await Promise.all(
    all.filter((file) => /^test\/.*\.test\.ts$/.test(file)).map((file) => readFile(join(root, file), "utf8")),
  );
  const untested = endpoints
    .map(({ method, path }) => `${method} ${path}`)
    .filter((title) => !tests.some((text) => text.includes(`"${title}"`) || text.includes(`"${title} `)));
  const missing = [
    ...[...served].map((each) => `functions/${each}.ts`),
    ...needed.map((each) => `events/${each}.json`),
  ].filter((file) => !has.has(file));
  const undeclared = needed.filter((each) => !each.startsWith("ops/") && !served.has(each));
  const orphaned = all.filter((file) => /^events\/.*\.json$/.test(file) && !needed.includes(file.slice(7, -5)));
  const generated = [
    { file: documentFile, text: openApiText() },
    { file: callsFile, text: clientTypes() },
    { file: catalogueLinesFile, text: catalogueLinesText() },
  ];
  const current = await Promise.all(generated.map(async ({ file, text }) => (await readFile(file, "utf8")) === text));
  return [
    ...missing.map((file) => `${file} is missing`),
    ...untested.map((title) => `No test in test/functions has the title ${title}`),
    ...undeclared.map((each) => `functions/${each}.ts serves no declared endpoint`),
    ...orphaned.map((file) => `${file} belongs to no function`),
    ...generated
      .filter((_, index) => !current[index])
      .map(({ file }) => `${relative(root, file)} is out of date: npm run openapi`),
  ];
}

if (import.meta.main) {
  const found = await gaps();
  if (found.length > 0) {
    console.error(found.join("\n"));
    process.exitCode = 1;
  }
}
