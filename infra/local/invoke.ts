import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { signRequest } from "../aws-local/http/signature.ts";
import { runCommand } from "../command.ts";
import { readCredentials } from "./credentials.ts";

const usage =
  "npm run invoke -- NAME [payload.json] [--url URL] [--data DIR]\n" +
  "  NAME    as admin-roles/list; without a file its sample payload is sent\n" +
  "  --url   where the service runs; default http://localhost:3000\n" +
  "  --data  the directory of its data; default .local";

interface Request {
  readonly name: string;
  /** Default: the function's sample payload. */
  readonly file: string | undefined;
  readonly url: string;
  readonly data: string;
}

/** Invokes a function of the running stack. */
async function invoke({ name, file, url, data }: Request): Promise<{ answer: unknown; hasFailed: boolean }> {
  const functionName = name.replaceAll("/", "-");
  const body = await readFile(file ?? (await sampleOf(functionName)));
  const target = new URL(`/2015-03-31/functions/${functionName}/invocations`, url);
  const headers = await signRequest("lambda", await readCredentials(data), target, "POST", body);
  const response = await fetch(target, { method: "POST", body, headers }).catch((cause) => {
    throw new Error(`Nothing answers on ${url}: is npm start running?`, { cause });
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

const flags = {
  url: { type: "string", default: "http://localhost:3000" },
  data: { type: "string", default: join(import.meta.dirname, "../../.local") },
} as const;

await runCommand({ usage, flags, count: { min: 1, max: 2 } }, async ({ url, data }, [name = "", file]) => {
  const { answer, hasFailed } = await invoke({ name, file, url, data });
  console.log(JSON.stringify(readable(answer), null, 2));
  process.exitCode = hasFailed ? 1 : 0;
});
