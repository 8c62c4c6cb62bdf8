import * as z from "zod/mini";
import { payloadOf } from "../../lib/operators/payload.ts";
import { smoke } from "../../lib/operators/smoke.ts";

const url = process.env.API_URL ?? "";

const question = z.object({
  endpoint: z.string(),
  target: z.string().check(z.regex(/^\/(?!\/)/)),
});
const payload = z.looseObject({ requests: z.array(question).check(z.minLength(1)) });

/**
 * Asks the API of its own stage what visitors ask, and fails when an answer is not as declared. It changes nothing, and
 * has no session.
 */
export async function handler(event: unknown): Promise<{ asked: number; slowestInMilliseconds: number }> {
  const { requests } = payloadOf(payload, event);
  const findings = await smoke(url, requests);
  const flaws = findings.flatMap(({ target, flaw }) => (flaw === undefined ? [] : [`GET ${target}: ${flaw}`]));
  if (flaws.length > 0) throw new Error(flaws.join("\n"));
  const slowestInMilliseconds = Math.max(...findings.map(({ milliseconds }) => milliseconds));
  return { asked: findings.length, slowestInMilliseconds };
}
