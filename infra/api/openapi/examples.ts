import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Declaration, endpointPath, isNavigation } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";

/** A record of the demo data for each kind of response. */
export type Examples = Readonly<Record<string, unknown>>;

/** Written by `npm run openapi`. */
export const examplesFile = join(import.meta.dirname, "examples.json");

export const readExamples = (): Examples => JSON.parse(readFileSync(examplesFile, "utf8"));

const events = join(import.meta.dirname, "../../../events");
const imageBaseUrl = "https://images.example.com";

/**
 * Sends the sample events to a service with demo data, and reads whole lists. An editor has a contributor open meanwhile,
 * so that the list shows a lock.
 */
export async function collectExamples(url: string): Promise<Examples> {
  const found: Record<string, unknown> = {};
  const requested = endpoints.filter((each) => each.method === "GET" && !each.notCacheable && !isNavigation(each));
  for (const declaration of requested.sort((one, other) => Number(isList(one)) - Number(isList(other)))) {
    const { response } = declaration;
    const body = await read(url, declaration);
    if ("record" in response) found[response.record] ??= body;
    if ("list" in response) found[response.list] ??= fullest(response.field ? body[response.field] : body);
  }
  // Endpoints that return a slug choose it at random. When a session of the demo data ends depends on the start.
  const { slug } = found.Contributor as { slug: string };
  const session = { ...(found.Session as object), expires: "2027-01-31T10:15:00.000Z" };
  return Object.fromEntries(
    Object.entries({ ...found, Slug: slug, Session: session }).sort(([one], [other]) => (one < other ? -1 : 1)),
  );
}

const isList = ({ response }: Declaration) => "list" in response;

async function read(url: string, declaration: Declaration) {
  const { path, queryStringParameters } = JSON.parse(
    readFileSync(join(events, `${endpointPath(declaration)}.json`), "utf8"),
  );
  const { limit: _, ...query } = queryStringParameters ?? {};
  const target = `${path}?${new URLSearchParams(query)}`;
  const user = declaration.permission === "view-contributors" && !isList(declaration) ? "editor" : "administrator";
  const response = await fetch(`${url}${target}`, { headers: { Cookie: `refreshToken=local-${user}` } });
  if (response.status !== 200) throw new Error(`GET ${target} is ${response.status}: ${await response.text()}`);
  return JSON.parse((await response.text()).replaceAll(`${url}/images`, imageBaseUrl));
}

/** The record that shows most. Of several series a random one is shown, so such records are left out. */
const fullest = (records: readonly { readonly series_count?: number; readonly random_series?: unknown }[]) =>
  records
    .filter(({ random_series, series_count = 0 }) => !random_series || series_count === 1)
    .toSorted((one, other) => JSON.stringify(other).length - JSON.stringify(one).length)[0];
