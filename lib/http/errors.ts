import type { Declaration } from "../contract/declare.ts";
import { commonErrors } from "../contract/errors.ts";

/** An error of the contract: the status, and the message where the declaration does not name it. */
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

/** The exact message of the interface for a status at this endpoint. */
export function messageOf(declaration: Pick<Declaration, "errors">, status: number): string {
  const messages: Readonly<Record<number, string>> = { ...commonErrors, ...declaration.errors };
  const message = messages[status];
  if (message === undefined) throw new TypeError(`No message is declared for status ${status}`);
  return message;
}
