import { Argument } from "@commander-js/extra-typings";
import { newCommand, runCommand } from "../../infra/command/command.ts";
import { compareCalls } from "./calls.ts";
import { compareCheckouts, compareWithFloor } from "./compare.ts";
import { edge } from "./edge.ts";
import { faults } from "./faults.ts";
import { growth } from "./growth.ts";
import { history } from "./history.ts";
import { keeps, print, type Row } from "./measure.ts";
import { withStage } from "./stage.ts";

type Chapter = readonly [title: string, measure: (checkout: string) => Promise<Row[]>];

const chapters: Readonly<Record<string, Chapter>> = {
  growth: ["Growth a hundredfold: p50 at a million records, compared with 10,000", () => withStage(growth)],
  history: ["Growth a hundredfold of the history: what operators do with two million rows", () => withStage(history)],
  http: ["Requests a second of the service, compared with node:http and the same statements", compareWithFloor],
  faults: ["Writes while calls to the Data API fail: none is lost, none is done twice", () => withStage(faults)],
  edge: ["A day of visitors and edits before the edge, which needs Varnish", edge],
  function: [
    "CPU of functions in their process, compared with another checkout and with a call by the SDK",
    compareCalls,
  ],
  checkout: ["Lists and slugs, compared with another checkout", compareCheckouts],
};

const names = Object.keys(chapters);
const command = newCommand("npm run bench")
  .description("Measures all chapters, or some.")
  .addArgument(new Argument("[chapter...]", "the chapters to measure").choices(names))
  .option("--with <directory>", "the checkout, and its node_modules, that function and checkout compare with", ".");

async function measureAll(requested: readonly string[], checkout: string): Promise<void> {
  const results: Row[] = [];
  for (const [name, [title, measure]] of Object.entries(chapters)) {
    if (requested.length > 0 && !requested.includes(name)) continue;
    const rows = await measure(checkout);
    print(title, rows);
    results.push(...rows);
  }
  process.exit(results.every(keeps) ? 0 : 1);
}

await runCommand(command.action((requested, { with: checkout }) => measureAll(requested, checkout)));
