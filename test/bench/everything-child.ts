import { startLambda } from "../../infra/aws-local/lambda/lambda.ts";
import { settingsOf } from "../../infra/local/functions.ts";
import { eventOf } from "./requests.ts";

const [outdir = ""] = process.argv.slice(2);
const lambda = await startLambda({ outdir, settingsOf });

const field = Buffer.from('"first_name":');
const tailLength = 200;
let records = 0;
let tail = Buffer.alloc(0);

/** Reads an answer and counts its records. Keeps only its end in memory. */
async function count(query: Record<string, string>): Promise<void> {
  records = 0;
  tail = Buffer.alloc(0);
  const answer = await lambda.stream("contributors-list", eventOf({ name: "contributors/list", query }));
  if ("error" in answer) throw new Error(answer.error.errorMessage);
  for await (const chunk of answer.body) {
    // A chunk can end within a field's name.
    const boundary = Buffer.concat([tail.subarray(1 - field.length), chunk.subarray(0, field.length - 1)]);
    records += occurrences(boundary) + occurrences(chunk);
    tail = Buffer.concat([tail, chunk.subarray(-tailLength)]).subarray(-tailLength);
  }
}

function occurrences(bytes: Buffer): number {
  let found = 0;
  for (let position = bytes.indexOf(field); position >= 0; position = bytes.indexOf(field, position + 1)) found++;
  return found;
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

const numbers = /"max":(\d+),"from":0,"to":(\d+)\}$/.exec(tail.toString());
if (!numbers || Number(numbers[1]) !== records || Number(numbers[2]) !== records) {
  throw new Error(`The answer is not whole: ${records} records, ending ${tail}`);
}
process.send?.({ grownBytes: peak - before, records, milliseconds: performance.now() - start });
process.disconnect();
