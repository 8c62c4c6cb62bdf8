import type { Readable } from "node:stream";
import type { MiddlewareObj } from "@middy/core";
import type { APIGatewayProxyEvent } from "aws-lambda";

/** What a handler returns to API Gateway: a REST proxy result, or the same with a streamed body. */
export interface Response {
  statusCode: number;
  headers: Record<string, string>;
  /** Headers that come more than once: cookies. */
  multiValueHeaders?: Record<string, string[]>;
  body: string | Readable;
}

export type Middleware = MiddlewareObj<APIGatewayProxyEvent, Response>;

export interface Exchange {
  readonly event: APIGatewayProxyEvent;
  readonly response?: Response | null | undefined;
}

export const json = { "Content-Type": "application/json" } as const;

/** The response envelope (lib/contract/README.md, "Response envelope"). */
export function envelope(code: number, data: string, headers: Readonly<Record<string, string>> = {}): Response {
  return { statusCode: code, headers: { ...json, ...headers }, body: JSON.stringify({ data, code }) };
}
