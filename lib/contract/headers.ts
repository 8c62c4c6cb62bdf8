import type { Declaration } from "./declare.ts";

/** What pages of other origins may read of an answer, beyond what browsers always let them (README.md, "CORS"). */
export const exposedHeaders = "Age, ETag, Retry-After, x-amzn-RequestId";

/** Whether the endpoint gives or changes a record that counts its changes; its version is the `ETag` of the details. */
export const isVersioned = ({ permission, parameters }: Declaration): boolean =>
  permission !== undefined && parameters !== undefined;

/** Whether the request may carry an `Idempotency-Key`. */
export const isRepeatable = ({ permission, method }: Declaration): boolean =>
  permission !== undefined && method !== "GET";

/** The headers of a request that change what it does. */
export const headersOf = (declaration: Declaration): readonly ("If-Match" | "Idempotency-Key")[] =>
  isRepeatable(declaration) ? [...(isVersioned(declaration) ? (["If-Match"] as const) : []), "Idempotency-Key"] : [];
