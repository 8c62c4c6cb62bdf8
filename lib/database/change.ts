import sql from "sql-template-tag";
import type { changes } from "../changes/all.ts";
import { execute } from "./client.ts";
import type { Guard } from "./guard.ts";
import type { Outcome } from "./query.ts";
import { integer, integerOrNull, textOrNull } from "./read.ts";
import { released } from "./release.ts";

export type ChangeName = keyof typeof changes;

/** What is asked, and what makes it one request however often it is sent (lib/changes/request.sql). */
export interface Asked {
  readonly key: string;
  /** For the ledger: API Gateway's id of the request, or Lambda's. */
  readonly id: string;
  readonly endpoint: string;
  readonly fingerprint?: string | undefined;
  /** The versions of the record that the client has seen. */
  readonly versions?: readonly number[] | undefined;
  readonly target?: number | null;
  readonly asked: object;
}

/** Changes something for the caller that the guard lets in, and for nobody else. */
export function change(
  name: ChangeName,
  { digest, permission, userMissing }: Guard,
  request: Asked,
  deadline: number,
): Promise<Outcome> {
  return call("admitted", name, { ...request, digest, permission, user_missing: userMissing }, deadline);
}

/** Changes something for an operator. */
export const command = (name: ChangeName, request: Asked & { readonly digest?: string }): Promise<Outcome> =>
  call("commanded", name, request);

/** Lets the request in and does the work, as one statement. Sent twice, it is done once and answered alike. */
async function call(
  admission: "admitted" | "commanded",
  name: ChangeName,
  request: object,
  deadline?: number,
): Promise<Outcome> {
  const [row = []] = await execute(
    sql`
      with caller as materialized (
        select ${released(admission)}(${JSON.stringify(request)}::json) as request
      )
      select (request).status, (request).caller, cast((request).answer as text)
      from caller
      where (request).status is not null
      union all
      select status, (request).caller, cast(answer as text)
      from caller cross join lateral ${released(name)}(request)
      where (request).status is null
    `,
    deadline,
  );
  return { status: integer(row, 0), caller: integerOrNull(row, 1), body: textOrNull(row, 2) };
}
