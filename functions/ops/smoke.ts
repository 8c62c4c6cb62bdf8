import * as z from "zod/mini";
import { writeLog } from "../../lib/aws/log.ts";
import { deadlineFromNow } from "../../lib/aws/retry.ts";
import { payloadOf } from "../../lib/operators/payloads.ts";
import { smoke, smokeEdge } from "../../lib/operators/smoke/smoke.ts";
import { readSecret } from "../../lib/sign-in/secrets.ts";

const url = process.env.API_URL ?? "";
/** On a stage with an edge: the secret with the API's address and key. */
const doorArn = process.env.API_DOOR_ARN;
const door = z.object({ url: z.string(), key: z.string() });
/** On a stage with an edge. */
const edgeUrl = process.env.EDGE_URL;

/**
 * Sends public requests to the API of its stage, and fails when a response is not as declared. Of an edge it asks
 * one URL, by its cache and past it; it logs how old the cached response is, and fails when that is older than it may be.
 * It changes nothing and has no session.
 */
export async function handler(event: unknown) {
  const { requests } = payloadOf("ops/smoke", event);
  const api = doorArn ? door.parse(JSON.parse(await readSecret(doorArn, deadlineFromNow()))) : undefined;
  const direct = await smoke(api?.url ?? url, requests, { key: api?.key });
  const edge = edgeUrl ? await smokeEdge(edgeUrl) : undefined;
  const results = [...direct, ...(edge?.results ?? [])];
  const age = edge && { edgeAgeInSeconds: edge.ageInSeconds };
  if (age) writeLog("info", { endpoint: "ops-smoke", ...age });
  const problems = results.flatMap(({ target, problem }) =>
    problem === undefined ? [] : [`GET ${target}: ${problem}`],
  );
  if (problems.length > 0) throw new Error(problems.join("\n"));
  const slowestInMilliseconds = Math.max(...results.map(({ milliseconds }) => milliseconds));
  return { requests: results.length, slowestInMilliseconds, ...age };
}
