import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { everything } from "./everything.ts";
import { growth } from "./growth.ts";
import { benchImages } from "./images.ts";
import { latency } from "./latency.ts";
import { loading } from "./loading.ts";
import { print, type Row } from "./measure.ts";
import { overhead } from "./overhead.ts";
import { setTheStage } from "./stage.ts";

const log = console.log;
// Functions log a line a request, which nobody wants in the table.
console.log = (line: string, ...rest: unknown[]) => {
  if (!String(line).startsWith('{"level":"info"')) log(line, ...rest);
};

const stage = await setTheStage();
const chapters: readonly [string, () => Promise<Row[]>][] = [
  ["A hundred times as many records: p50 at 200,000 over p50 at 2,000", () => growth(stage)],
  ["All 200,000 contributors in one request", () => everything(stage)],
  ["Handlers, the statement's own time left out, over bare ones", () => overhead(stage)],
  ["Bundles, and process start to handler ready", () => loading(join(stage.outdir, "../loading"))],
  ["Images", benchImages],
  ["Administration with a Data API of 17 ms: p50 over one call", () => latency(stage)],
];
const wanted = process.argv[2] ?? "";
const results: Record<string, Row[]> = {};
try {
  for (const [title, measure] of chapters.filter(([title]) => title.toLowerCase().includes(wanted.toLowerCase()))) {
    results[title] = await measure();
    print(title, results[title]);
  }
} finally {
  await stage.close();
}

const directory = join(import.meta.dirname, "../../.local");
await mkdir(directory, { recursive: true });
await writeFile(join(directory, "bench.json"), `${JSON.stringify(results, null, 2)}\n`);
console.log(`\nAs JSON: .local/bench.json`);
const over = Object.values(results)
  .flat()
  .filter(({ value, bound }) => bound !== undefined && !(value <= bound));
process.exit(over.length > 0 ? 1 : 0);
