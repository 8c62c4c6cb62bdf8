import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Declaration, endpointPath } from "../../lib/contract/declare.ts";

/** The sample event of an endpoint. */
export async function eventOf(declaration: Declaration) {
  const file = join(import.meta.dirname, "../../events", `${endpointPath(declaration)}.json`);
  return JSON.parse(await readFile(file, "utf8"));
}

/** The URL of an endpoint's sample event. */
export async function sampleUrl(declaration: Declaration): Promise<string> {
  const { path, queryStringParameters } = await eventOf(declaration);
  return `${path}?${new URLSearchParams(queryStringParameters ?? {})}`;
}
