import { parseList } from "structured-headers";
import { expect } from "vitest";
import * as z from "zod/mini";
import { failuresOf } from "../../infra/api/openapi/responses.ts";
import { type Declaration, isCacheable } from "../../lib/contract/declare.ts";
import { endpointAt } from "../../lib/contract/endpoints.ts";
import { reasons } from "../../lib/contract/faults.ts";
import { isVersioned } from "../../lib/contract/headers.ts";
import { pageLimitMax } from "../../lib/contract/parameters.ts";
import { responseSchema } from "../../lib/contract/response-schema.ts";

/** The declaration of an endpoint by its path in `functions/`: `admin-roles/edit`. */
export function declarationOf(name: string): Declaration {
  const declaration = endpointAt(name);
  if (!declaration) throw new Error(`There is no endpoint ${name}`);
  return declaration;
}

/** Fails unless the declaration allows the response. */
export function expectDeclared(declaration: Declaration, status: number, body: unknown): void {
  const text = JSON.stringify(body)?.slice(0, 2000);
  if (status !== 200) {
    expect(
      errorsOf(declaration).filter(({ code }) => code === status),
      text,
    ).toContainEqual(body);
    return;
  }
  expect(z.safeParse(responseSchema(declaration), body).error?.issues, text).toBeUndefined();
  if ("field" in declaration.response) expectCounts(declaration.response.field, body);
}

/** Fails unless `to - from` and `count` are the number of records. */
function expectCounts(field: string, body: unknown): void {
  const { [field]: records, from, to, count } = body as Readonly<Record<string, unknown>>;
  const length = (records as readonly unknown[]).length;
  expect(Number(to) - Number(from), "to - from").toBe(length);
  if (count !== undefined) expect(count).toBe(length);
}

const publicCaching = "public, max-age=60, s-maxage=600, stale-while-revalidate=60, stale-if-error=86400";
const cacheTag = String.raw`(?:contributor|publisher|tag)(?:s|-[1-9]\d*)|series(?:-[1-9]\d*)?`;
/** At most fifty, in which nothing comes from a client: names and numbers of this service. */
const cacheTags = new RegExp(`^(?:${cacheTag})(?:,(?:${cacheTag})){0,49}$`);

/** What `Invalid-Parameters` says of each parameter; undefined without the header. */
export function faultsIn(headers: Headers) {
  const header = headers.get("Invalid-Parameters");
  if (header === null) return undefined;
  const items = parseList(header).map(([name, parameters]) => [String(name), Object.fromEntries(parameters)] as const);
  return Object.fromEntries(items);
}

/**
 * Fails unless Content-Type, Content-Location, Cache-Control, Cache-Tag, ETag and Location are right, causes are named,
 * and 304 comes only from a cacheable endpoint. Of lists only a page is cached, so its `limit` is needed.
 */
export function expectHeaders(declaration: Declaration, status: number, headers: Headers, limit?: number): void {
  const { response } = declaration;
  const isCached = isCacheable(declaration);
  const isRecord = "record" in response;
  const isPage = isRecord || (limit !== undefined && limit <= pageLimitMax);
  const isGiven = status === 200 || status === 304;
  // Where there is no file service, API Gateway itself responds to these POSTs and DELETEs, which no cache keeps.
  if (!((declaration.needsFileService || declaration.needsSignIn) && status === 503))
    expect(headers.get("Cache-Control")).toBe(isCached && isGiven && isPage ? publicCaching : "no-store");
  expect(headers.get("Cache-Tag") ?? "none").toMatch(isCached && isGiven && isPage ? cacheTags : /^none$/);
  const isNumbered = isRecord && isVersioned(declaration);
  const weak = "random" in response ? /^(W\/"|none$)/ : /^W\/"/;
  expect(headers.get("ETag") ?? "none").toMatch(
    isGiven && isCached && isPage ? weak : isGiven && isNumbered ? /^"[1-9]\d*"$/ : /^none$/,
  );
  const location = status === 200 && declaration.creates;
  expect(headers.get("Location") ?? "none").toMatch(
    location ? new RegExp(`^${location.replace("{id}", "[1-9]\\d*")}$`) : /^none$/,
  );
  const current = headers.get("Content-Location");
  if (current !== null) {
    const pattern = declaration.path.replace("{slug}", String.raw`[\w%-]+`);
    expect(isGiven && declaration.followsSlugs ? current : "nothing").toMatch(new RegExp(`^${pattern}$`));
  }
  const causes = Object.values(faultsIn(headers) ?? {}).map(({ reason }) => reason);
  expect(causes.length > 0).toBe(status === 400);
  expect(Object.keys(reasons)).toEqual(expect.arrayContaining(causes));
  expect(headers.get("x-amzn-Remapped-WWW-Authenticate")).toBe(
    status === 401 ? 'Cookie realm="colophon", cookie-name="refreshToken"' : null,
  );
  if (status === 304) expect({ isCached, isPage }).toEqual({ isCached: true, isPage: true });
  else expect(headers.get("Content-Type")).toBe("application/json");
}

/** Every error envelope of an endpoint's function, and what a body can cause at API Gateway. */
export const errorsOf = (declaration: Declaration): readonly { data: string; code: number }[] =>
  failuresOf(declaration)
    .filter(([code]) => !(declaration.body ? [429, 504] : [413, 415, 429, 504]).includes(code))
    .map(([code, data]) => ({ code, data }));
