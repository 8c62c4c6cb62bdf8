import { openApiDocument } from "../../infra/api/openapi/document.ts";

export type Json = Readonly<Record<string, unknown>>;

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly description?: string;
  readonly allowEmptyValue?: boolean;
  readonly schema: Json;
  readonly "x-extension"?: true;
}

/** An operation of the OpenAPI document, as a client reads it. */
export interface Operation {
  readonly operationId: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly "x-permission"?: string;
  readonly "x-extension"?: true;
  readonly path: string;
  readonly method: string;
  readonly security: readonly unknown[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Json }>> };
  readonly responses: Readonly<Record<string, Response>>;
  /** The client's call. */
  readonly "x-codeSamples"?: readonly [{ readonly source: string }];
}

interface Response {
  readonly $ref?: string;
  readonly description?: string;
  readonly content?: { readonly "application/json": { readonly schema: Json } };
}

interface Document extends Json {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Omit<Operation, "path" | "method">>>>>;
  readonly components: { readonly schemas: Json; readonly responses: Readonly<Record<string, Response>> };
}

export const document: Document = JSON.parse(JSON.stringify(openApiDocument()));

export const operations: readonly Operation[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ ...operation, path, method: method.toUpperCase() })),
);
