import { setTimeout as sleep } from "node:timers/promises";
import sql, { raw, type Sql } from "sql-template-tag";
import { deadlineFromNow, operatorTimeouts, retry, sendWithin, Unavailable, usualTimeouts } from "../aws/retry.ts";
import type { ChangeName, OperatorChangeName } from "../changes/all.ts";
import { integer, integerOrNull, isRefusal, isTransient, type Row, send, textOrNull } from "./client.ts";
import type { Guard } from "./guard.ts";
import { inReleaseSchema } from "./release.ts";
import type { Send } from "./transaction.ts";

/** A request for a change. Its key identifies it, so that it is done once however often it is sent (request.sql). */
export interface ChangeRequest {
  readonly key: string;
  /** For the ledger: the request id of API Gateway, or of Lambda. */
  readonly id: string;
  readonly endpoint: string;
  readonly fingerprint?: string | undefined;
  /** The versions of the record that the client has seen. */
  readonly versions?: readonly number[] | undefined;
  /** The id of the record that is to change, or null if that cannot be an id. */
  readonly target?: number | null;
  readonly input: object;
}

export interface Outcome {
  readonly status: number;
  /** JSON, or null if the status is enough. With 400 it is the name of the invalid parameter. */
  readonly body: string | null;
  /** The caller's id, if it is known. */
  readonly caller: number | null;
}

/** A request of an operators' function (request.sql). */
interface OperatorRequest extends ChangeRequest {
  readonly digest?: string;
  readonly operator?: string | undefined;
  readonly reason?: string | undefined;
  readonly dry_run?: boolean | undefined;
}

/** Changes something for a caller who holds the change's permission (lib/changes/all.ts). */
export const change = (
  name: ChangeName,
  { digest, userMissing }: Pick<Guard, "digest" | "userMissing">,
  request: ChangeRequest,
  deadline: number,
): Promise<Outcome> =>
  callOnce(
    (input) => sql`${inReleaseSchema("make_change")}(${raw(`'${name}'`)}, ${input})`,
    { ...request, digest, user_missing: userMissing },
    deadline,
  );

/** Changes something for an operator. While a long statement runs, the attempts that follow wait for its result. */
export const changeAsOperator = (name: OperatorChangeName, request: OperatorRequest): Promise<Outcome> =>
  callOnce(operatorCall(name), request, deadlineFromNow(operatorTimeouts));

/** The same in a transaction, which fails where that would be sent again. */
export async function changeWithin(
  sendStatement: Send,
  name: OperatorChangeName,
  request: OperatorRequest,
): Promise<Outcome> {
  const wait_until = databaseTime(performance.now() + usualTimeouts.attemptInMilliseconds);
  return outcomeOf(await sendStatement(callOf(operatorCall(name), { ...request, wait_until })));
}

const operatorCall = (name: OperatorChangeName) => (input: Sql) =>
  inChunks(sql`${inReleaseSchema("make_operator_change")}(${raw(`'${name}'`)}, ${input})`);

const callOf = (toCall: (input: Sql) => Sql, request: object): Sql => sql`
  select status, caller_id, body, clock
  from ${toCall(sql`${JSON.stringify(request)}::json`)}
`;

function outcomeOf(rows: readonly Row[]): Outcome {
  const [row = []] = rows;
  return { status: integer(row, 0), caller: integerOrNull(row, 1), body: bodyOf(rows) };
}

/**
 * Checks the request and makes the change, in one statement. It is sent again until there is a response: the change finds
 * its own row in the ledger, so it is done once. When the outcome of an attempt is not known and another one is refused,
 * the first one could still arrive and not be refused. So the refusal counts only if it was sent when that was too late.
 * @param toCall makes the call of the database function from its input; several rows have a chunk of the body each
 * @throws {Unavailable} when there is no response before the deadline
 */
export async function callOnce(
  toCall: (input: Sql) => Sql,
  request: object,
  deadline = deadlineFromNow(),
): Promise<Outcome> {
  /** When the last attempt whose outcome is not known can begin at the latest. */
  let unknownUntil = Number.NEGATIVE_INFINITY;
  const attempt = async (): Promise<Outcome & { readonly sentAt: number }> => {
    const sentAt = performance.now();
    const milliseconds = Math.min(usualTimeouts.attemptInMilliseconds, deadline - sentAt);
    const beginBy = sentAt + milliseconds / 4;
    const waitUntil = sentAt + (3 * milliseconds) / 4;
    const times = { begin_by: databaseTime(beginBy), wait_until: databaseTime(waitUntil) };
    try {
      const rows = await sendWithin((options) => send(callOf(toCall, { ...request, ...times }), options), milliseconds);
      clockDifference = integer(rows[0] ?? [], 3) - Date.now();
      const outcome = outcomeOf(rows);
      if (outcome.status === 503) throw new Late();
      return { ...outcome, sentAt };
    } catch (error) {
      if (!isRefusal(error) && !(error instanceof Late)) unknownUntil = beginBy;
      throw error;
    }
  };
  try {
    for (;;) {
      const outcome = await retry(
        attempt,
        (error) => error instanceof Late || isTransient(error),
        deadline - attemptMinInMilliseconds,
      );
      if (outcome.status === 200 || outcome.sentAt > unknownUntil) return outcome;
      await sleep(unknownUntil - performance.now());
    }
  } catch (error) {
    throw error instanceof Unavailable ? new Unavailable(error.cause, unknownUntil > 0) : error;
  }
}

/** An operator's result about many records may exceed a row of the Data API, 64 KB: so many characters always fit. */
const chunkLength = raw("15000");

const inChunks = (made: Sql): Sql => sql`
  (
    select status, caller_id, substr(body, 1 + ${chunkLength} * chunk, ${chunkLength}) as body, clock
    from
      ${made} as made
      cross join lateral generate_series(0, coalesce(length(body), 0) / ${chunkLength}) as chunk
    order by chunk
  ) as chunk
`;

function bodyOf(rows: readonly Row[]): string | null {
  const chunks = rows.map((row) => textOrNull(row, 2));
  return chunks.includes(null) ? null : chunks.join("");
}

/** The last attempt has so much time to wait for locks and to say that it did not get them. */
const attemptMinInMilliseconds = 1_000;

/** A call reached the database when it was not worth doing any more. */
class Late extends Error {
  override readonly name = "Late";
}

/** By how much the database's clock is ahead of this machine's, in milliseconds. Each response shows it anew. */
let clockDifference = 0;

/** A time of `performance.now()` by the database's clock. */
const databaseTime = (time: number): string =>
  new Date(Date.now() + clockDifference + time - performance.now()).toISOString();
