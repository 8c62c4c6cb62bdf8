import * as z from "zod/mini";
import { payloadOf } from "../../lib/operators/payload.ts";
import { smoke } from "../../lib/operators/smoke.ts";

const url = process.env.API_URL ?? "";

const requestSchema = z.object({
  endpoint: z.string(),
  target: z.string().check(z.regex(/^\/(?!\/)/)),
});
const payload = z.looseObject({ requests: z.array(requestSchema).check(z.minLength(1)) });

/**
 * Sends public requests to the API of its own stage, and fails when an answer is not as declared. It changes nothing
 * and has no session.
 */
export async function handler(event: unknown): Promise<{ asked: number; slowestInMilliseconds: number }> {
  const { requests } = payloadOf(payload, event);
  const results = await smoke(url, requests);
  const problems = results.flatMap(({ target, problem }) =>
    problem === undefined ? [] : [`GET ${target}: ${problem}`],
  );
  if (problems.length > 0) throw new Error(problems.join("\n"));
  const slowestInMilliseconds = Math.max(...results.map(({ milliseconds }) => milliseconds));
  return { asked: results.length, slowestInMilliseconds };
}
