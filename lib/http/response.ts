import type { Readable } from "node:stream";
import type middy from "@middy/core";
import type { APIGatewayProxyEvent } from "aws-lambda";
import type { Declaration } from "../contract/declare.ts";
import { missingPermissionHeader } from "../contract/headers.ts";

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

/** An error of the contract: a status, a message if it is not the declared one, and headers that name the cause. */
export class ContractError extends Error {
  override readonly name = "ContractError";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message = "", headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** The error for the status that a statement behind its guard gives: 403 means that the caller lacks the permission. */
export const statementError = ({ permission }: Pick<Declaration, "permission">, status: number) =>
  new ContractError(status, "", status === 403 && permission ? { [missingPermissionHeader]: permission } : {});
