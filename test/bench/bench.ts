import { runCommand, UsageError } from "../../infra/command/command.ts";
import { compareCheckouts, compareWithFloor } from "./compare.ts";
import { faults } from "./faults.ts";
import { growth } from "./growth.ts";
import { keeps, print, type Row } from "./measure.ts";
import { withStage } from "./stage.ts";

type Chapter = readonly [title: string, measure: (checkout: string) => Promise<Row[]>];

const chapters: Readonly<Record<string, Chapter>> = {
  growth: ["Growth a hundredfold: p50 at a million records, compared with 10,000", () => withStage(growth)],
  http: ["Requests a second of the service, compared with node:http and the same statements", compareWithFloor],
  faults: ["Writes while calls to the Data API fail: none is lost, none is done twice", () => withStage(faults)],
  checkout: ["Lists and slugs, compared with another checkout", compareCheckouts],
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
  const results: Row[] = [];
  for (const [name, [title, measure]] of Object.entries(chapters)) {
    if (requested.length > 0 && !requested.includes(name)) continue;
    const rows = await measure(checkout);
    print(title, rows);
    results.push(...rows);
  }
  process.exit(results.every(keeps) ? 0 : 1);
});
