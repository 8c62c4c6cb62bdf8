import { join } from "node:path";
import { writeFunctions as writeAnywhere } from "../../../infra/aws-local/test/functions.ts";

/** Beneath node_modules, so that they find packages. */
export const writeFunctions = (sources: Readonly<Record<string, string>>) =>
  writeAnywhere(sources, join(import.meta.dirname, "../../../node_modules/.cache"));

/** Returns the event it was given. */
export const echo = `export const handler = async (event) => ({ statusCode: 200, body: JSON.stringify(event) });`;
