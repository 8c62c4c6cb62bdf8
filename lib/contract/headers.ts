import type { Declaration } from "./declare.ts";

/** The headers that pages of other origins may read, beside those that browsers always permit (README.md, "CORS"). */
export const exposedHeaders = "Age, Content-Location, ETag, Location, Retry-After, x-amzn-RequestId";

/** The header by which shared caches learn the tags of a response. */
export const cacheTagHeader = "Cache-Tag";

/** Whether the endpoint shows or changes a record with a version, which is the `ETag` of its details. */
export const isVersioned = ({ permission, parameters }: Declaration): boolean =>
  permission !== undefined && parameters !== undefined;

/** Whether the request may carry an `Idempotency-Key`. */
export const isRepeatable = ({ permission, method }: Declaration): boolean =>
  permission !== undefined && method !== "GET";

/** The request headers that the endpoint reads beside the cookie. */
export const headersOf = (declaration: Declaration): readonly ("If-Match" | "Idempotency-Key")[] =>
  isRepeatable(declaration) ? [...(isVersioned(declaration) ? (["If-Match"] as const) : []), "Idempotency-Key"] : [];
