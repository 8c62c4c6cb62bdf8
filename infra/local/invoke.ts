import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";

const { values, positionals } = parseArgs({
  options: { url: { type: "string", default: "http://localhost:3000" } },
  allowPositionals: true,
});
const [name, file] = positionals;
if (name === undefined) {
  console.error("npm run invoke -- NAME [payload.json], NAME as admin-roles/list or admin-roles-list");
  process.exit(1);
}

const functionName = name.replaceAll("/", "-");
const payload = await readFile(file ?? (await sampleOf(functionName)), "utf8");
const response = await fetch(`${values.url}/2015-03-31/functions/${functionName}/invocations`, {
  method: "POST",
  body: payload,
}).catch(() => {
  console.error(`Nothing answers on ${values.url}: is npm start running?`);
  process.exit(1);
});
const answer = await response.json();
console.log(JSON.stringify(readable(answer), null, 2));
process.exitCode = response.ok && !response.headers.has("x-amz-function-error") ? 0 : 1;

/** The sample payload of a function: `events/admin-roles/list.json`. */
async function sampleOf(wanted: string): Promise<string> {
  const events = join(import.meta.dirname, "../../events");
  const files = await readdir(events, { recursive: true });
  const sample = files.find((each) => each.replaceAll(/[\\/]/g, "-") === `${wanted}.json`);
  if (sample === undefined) {
    console.error(`There is no sample payload for ${wanted}`);
    process.exit(1);
  }
  return join(events, sample);
}

/** Bodies are JSON inside of JSON; people want to read them. */
function readable(answer: unknown): unknown {
  if (typeof answer !== "object" || answer === null || !("body" in answer) || typeof answer.body !== "string")
    return answer;
  try {
    return { ...answer, body: JSON.parse(answer.body) };
  } catch {
    return answer;
  }
}
