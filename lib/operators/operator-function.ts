import { randomUUID } from "node:crypto";
import type { Context } from "aws-lambda";
import type * as z from "zod/mini";
import { type ChangeName, command } from "../database/change.ts";
import { payloadOf } from "./payload.ts";

/** What an operator's function has: its own entry in the ledger. */
export interface Tools {
  /**
   * Changes something by the database function of this name (lib/changes), and gives its status and what it answers.
   * @param digest of a token that is to be kept, and not to be recorded
   */
  readonly change: (
    name: ChangeName,
    asked?: object,
    digest?: string,
  ) => Promise<{ readonly status: number; readonly answer: unknown }>;
}

/**
 * Makes the Lambda handler of a function that operators and deployments invoke themselves. What it throws is shown to
 * them as the function's error.
 * @param endpoint its path in `functions/`, for the ledger
 */
export function operate<S extends z.ZodMiniType, Result>(
  endpoint: `ops/${string}`,
  payload: S,
  work: (input: z.output<S>, tools: Tools) => Promise<Result>,
): (event: unknown, context?: Context) => Promise<Result> {
  return async (event, context) => {
    const input = payloadOf(payload, event);
    const change: Tools["change"] = async (name, asked = {}, digest = "") => {
      // Each change is one of its own: what Lambda invokes again has another token, or other images, to tell of.
      const key = randomUUID();
      const { status, body } = await command(name, { key, id: context?.awsRequestId ?? key, endpoint, asked, digest });
      return { status, answer: JSON.parse(body ?? "null") };
    };
    return await work(input, { change });
  };
}
