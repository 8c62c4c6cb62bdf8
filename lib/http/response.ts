import type { Readable } from "node:stream";
import type middy from "@middy/core";
import type { APIGatewayProxyEvent } from "aws-lambda";
import type { Declaration } from "../contract/declare.ts";
import { commonErrors } from "../contract/errors.ts";

/** What a handler returns to API Gateway: a REST proxy result, or the same with a streamed body. */
export interface Response {
  statusCode: number;
  headers: Record<string, string>;
  /** Headers that come more than once: cookies. */
  multiValueHeaders?: Record<string, string[]>;
  body: string | Readable;
}

export type Middleware = middy.MiddlewareObj<APIGatewayProxyEvent, Response>;

export type Hook = middy.MiddlewareFn<APIGatewayProxyEvent, Response>;

export const json = { "Content-Type": "application/json" } as const;

/** The response envelope (lib/contract/README.md, "Response envelope"). */
export function envelope(code: number, data: string, headers: Readonly<Record<string, string>> = {}): Response {
  return { statusCode: code, headers: { ...json, ...headers }, body: JSON.stringify({ data, code }) };
}

/** An error of the contract: a status, and a message if it is not the declared one. */
export class ContractError extends Error {
  override readonly name = "ContractError";
  readonly status: number;

  constructor(status: number, message = "") {
    super(message);
    this.status = status;
  }
}

/** The message that is declared for a status of this endpoint. */
export function messageOf(declaration: Pick<Declaration, "errors">, status: number): string {
  const messages: Readonly<Record<number, string>> = { ...commonErrors, ...declaration.errors };
  const message = messages[status];
  if (message === undefined) throw new TypeError(`No message is declared for status ${status}`);
  return message;
}
