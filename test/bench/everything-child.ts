import { startLambda } from "../../infra/local/lambda.ts";
import { eventOf } from "./requests.ts";

const [outdir = ""] = process.argv.slice(2);
const lambda = await startLambda({ outdir });

const field = '"first_name":';
let records = 0;
let tail = "";

async function count(query: Record<string, string>): Promise<void> {
  records = 0;
  tail = "";
  const answer = await lambda.stream("contributors-list", eventOf({ name: "contributors/list", query }));
  if ("error" in answer) throw new Error(answer.error.errorMessage);
  for await (const chunk of answer.body) {
    // A field's name may be cut in two by the end of a chunk.
    const text = tail.slice(-(field.length - 1)) + chunk.toString("latin1");
    records += text.split(field).length - 1;
    tail = (tail + chunk.toString("latin1")).slice(-200);
  }
}

await count({ client: "1", limit: "10000" });
const before = process.memoryUsage().rss;
let peak = before;
const watch = setInterval(() => {
  peak = Math.max(peak, process.memoryUsage().rss);
}, 5);
const start = performance.now();
await count({ client: "1" });
clearInterval(watch);

const numbers = /"max":(\d+),"from":0,"to":(\d+)\}$/.exec(tail);
if (!numbers || Number(numbers[1]) !== records || Number(numbers[2]) !== records) {
  throw new Error(`The answer is not whole: ${records} records, ending ${tail}`);
}
process.send?.({ grownBytes: peak - before, records, milliseconds: performance.now() - start });
process.disconnect();
