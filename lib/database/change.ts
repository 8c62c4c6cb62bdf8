import sql from "sql-template-tag";
import type { changes } from "../changes/all.ts";
import { execute } from "./client.ts";
import type { Guard } from "./guard.ts";
import type { Outcome } from "./query.ts";
import { integer, integerOrNull, textOrNull } from "./read.ts";
import { released } from "./release.ts";

export type ChangeName = keyof typeof changes;

/** A request for a change. Its key identifies it, so that it is done once however often it is sent (request.sql). */
export interface ChangeRequest {
  readonly key: string;
  /** For the ledger: the request id of API Gateway, or of Lambda. */
  readonly id: string;
  readonly endpoint: string;
  readonly fingerprint?: string | undefined;
  /** The versions of the record that the client has seen. */
  readonly versions?: readonly number[] | undefined;
  readonly target?: number | null;
  readonly asked: object;
}

/** Changes something for a caller, if the guard permits it. */
export function change(
  name: ChangeName,
  { digest, permission, userMissing }: Guard,
  request: ChangeRequest,
  deadline: number,
): Promise<Outcome> {
  return call("make_change", name, { ...request, digest, permission, user_missing: userMissing }, deadline);
}

/** Changes something for an operator. */
export const changeAsOperator = (
  name: ChangeName,
  request: ChangeRequest & { readonly digest?: string },
): Promise<Outcome> => call("make_operator_change", name, request);

/** Checks the request and makes the change, in one statement. Sent twice, it is done once and answered the same. */
async function call(
  entry: "make_change" | "make_operator_change",
  name: ChangeName,
  request: object,
  deadline?: number,
): Promise<Outcome> {
  const [row = []] = await execute(
    sql`
      select status, caller, body
      from ${released(entry)}(${name}::text, ${JSON.stringify(request)}::json)
    `,
    deadline,
  );
  return { status: integer(row, 0), caller: integerOrNull(row, 1), body: textOrNull(row, 2) };
}
