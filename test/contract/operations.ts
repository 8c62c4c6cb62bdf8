import { openApiDocument } from "../../infra/api/openapi/document.ts";

// biome-ignore lint/suspicious/noExplicitAny: tests look into the document at every depth
export type Json = Readonly<Record<string, any>>;

/** The OpenAPI document, as a client reads it. */
export const document: Json = JSON.parse(JSON.stringify(openApiDocument()));

/** Its operations, with their names. */
export const operations = Object.values<Json>(document.paths).flatMap((methods) =>
  Object.values<Json & { readonly operationId: string }>(methods),
);
