import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { readCredentials } from "./credentials.ts";
import { signatureHeaders } from "./http/signature.ts";

const usage =
  "npm run invoke -- NAME [payload.json] [--url http://localhost:3000] [--data .local], NAME as admin-roles/list";

/** Invokes a function of the running stack, with its sample payload unless another is given. */
async function invoke(): Promise<{ answer: unknown; hasFailed: boolean }> {
  const { values, positionals } = parseArgs({
    options: {
      url: { type: "string", default: "http://localhost:3000" },
      data: { type: "string", default: join(import.meta.dirname, "../../.local") },
    },
    allowPositionals: true,
  });
  const [name, file] = positionals;
  if (name === undefined) throw new Error(usage);
  const functionName = name.replaceAll("/", "-");
  const body = await readFile(file ?? (await sampleOf(functionName)));
  const url = new URL(`/2015-03-31/functions/${functionName}/invocations`, values.url);
  const headers = signatureHeaders("lambda", await readCredentials(values.data), url, "POST", body);
  const response = await fetch(url, { method: "POST", body, headers }).catch((cause) => {
    throw new Error(`Nothing answers on ${values.url}: is npm start running?`, { cause });
  });
  const hasFailed = !response.ok || response.headers.has("x-amz-function-error");
  return { answer: await response.json(), hasFailed };
}

/** The sample payload of a function: `events/admin-roles/list.json`. */
async function sampleOf(functionName: string): Promise<string> {
  const events = join(import.meta.dirname, "../../events");
  const files = await readdir(events, { recursive: true });
  const sample = files.find((file) => file.replaceAll(/[\\/]/g, "-") === `${functionName}.json`);
  if (sample === undefined) throw new Error(`There is no sample payload for ${functionName}`);
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

try {
  const { answer, hasFailed } = await invoke();
  console.log(JSON.stringify(readable(answer), null, 2));
  process.exitCode = hasFailed ? 1 : 0;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
