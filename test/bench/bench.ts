import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runCommand, UsageError } from "../../infra/command/command.ts";
import { compareCheckouts } from "./checkout.ts";
import { faults } from "./faults.ts";
import { growth } from "./growth.ts";
import { http } from "./http.ts";
import { keeps, print, type Row } from "./measure.ts";
import { type Stage, setTheStage } from "./stage.ts";

type Chapter = { readonly title: string } & (
  | { readonly measure: (stage: Stage) => Promise<Row[]> }
  | { readonly compare: (checkout: string) => Promise<Row[]> }
);

const chapters: Readonly<Record<string, Chapter>> = {
  growth: { title: "Growth a hundredfold: p50 at a million records, compared with 10,000", measure: growth },
  http: {
    title: "Requests a second: the whole local service, compared with node:http and the same statements",
    measure: http,
  },
  faults: { title: "Writes while calls to the Data API fail: none is lost, none is done twice", measure: faults },
  checkout: { title: "Lists and slugs, compared with another checkout", compare: compareCheckouts },
};

const names = Object.keys(chapters);
const usage =
  "npm run bench [-- CHAPTER …] [--with DIR]\n" +
  `  all chapters, or some of ${names.join(", ")}\n` +
  "  --with  the checkout that the chapter checkout compares with, and its node_modules; default: this one";
const flags = { with: { type: "string", default: "." } } as const;

await runCommand({ usage, flags, count: { min: 0, max: names.length } }, async ({ with: checkout }, requested) => {
  const unknown = requested.filter((each) => !names.includes(each));
  if (unknown.length > 0) throw new UsageError(`There is no chapter ${unknown.join(", ")}`);
  const results = await measure(requested.length > 0 ? requested : names, checkout);
  await save(results);
  process.exit(Object.values(results).flat().every(keeps) ? 0 : 1);
});

async function measure(requested: readonly string[], checkout: string): Promise<Record<string, Row[]>> {
  const log = console.log;
  // Functions log a line for each request, which would break up the table.
  console.log = (line: string, ...rest: unknown[]) => {
    if (!String(line).startsWith('{"level":"info"')) log(line, ...rest);
  };
  const results: Record<string, Row[]> = {};
  let stage: Stage | undefined;
  const rowsOf = async (chapter: Chapter) => {
    if ("compare" in chapter) return await chapter.compare(checkout);
    stage ??= await setTheStage();
    return await chapter.measure(stage);
  };
  try {
    for (const [name, chapter] of Object.entries(chapters)) {
      if (!requested.includes(name)) continue;
      const rows = await rowsOf(chapter);
      results[name] = rows;
      print(chapter.title, rows);
    }
  } finally {
    await stage?.close();
  }
  return results;
}

/** Chapters that were not run keep their last results. */
async function save(results: Record<string, Row[]>): Promise<void> {
  const directory = join(import.meta.dirname, "../../.local");
  const file = join(directory, "bench.json");
  await mkdir(directory, { recursive: true });
  const before = await readFile(file, "utf8").then(JSON.parse, () => ({}));
  await writeFile(file, `${JSON.stringify({ ...before, ...results }, null, 2)}\n`);
  console.log(`\nAs JSON: .local/bench.json`);
}
