import type { Declaration } from "../contract/declare.ts";
import { commonErrors } from "../contract/errors.ts";

/** An error of the contract: a status, and a message if it is not the declared one. */
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

/** The message that is declared for a status of this endpoint. */
export function messageOf(declaration: Pick<Declaration, "errors">, status: number): string {
  const messages: Readonly<Record<number, string>> = { ...commonErrors, ...declaration.errors };
  const message = messages[status];
  if (message === undefined) throw new TypeError(`No message is declared for status ${status}`);
  return message;
}
