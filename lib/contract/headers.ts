import type { Declaration } from "./declare.ts";

/** The headers that pages of other origins may read, beside those that browsers always permit (README.md, "CORS"). */
export const exposedHeaders =
  "Age, Content-Location, ETag, Invalid-Parameters, Link, Location, Missing-Permission, Preference-Applied, Retry-After, x-amzn-RequestId";

/** The header that says what is wrong with the parameters of a request (README.md, "Beyond the interface"). */
export const invalidParametersHeader = "Invalid-Parameters";

/** The header with the key of the permission without which a caller gets 403. */
export const missingPermissionHeader = "Missing-Permission";

/** Refuses what the endpoint does not declare (README.md, "Beyond the interface"). */
export const strictHandling = "handling=strict";

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
