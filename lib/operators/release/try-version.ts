import { randomUUID } from "node:crypto";
import { InvokeCommand, type LambdaClient } from "@aws-sdk/client-lambda";
import { asWhole, type Declaration, endpointPath, functionName, needsCaller } from "../../contract/declare.ts";
import { endpoints } from "../../contract/endpoints.ts";
import { expectedStatuses, finalResponse, problemOf } from "../../contract/expected-response.ts";
import { lambdaResponse } from "./lambda-response.ts";

/** `colophon-prod-` */
const prefix = process.env.FUNCTION_PREFIX ?? "";

/** A busy function is throttled. CloudFormation waits for 15 minutes. */
const timeoutInMilliseconds = 5 * 60_000;

/** A version returned 503 as long as the trial waited: the database does not respond, which says nothing of the version. */
export class DatabaseSilent extends Error {}

/** What operators' functions are invoked with that changes nothing. Others are published, and not invoked. */
const harmless: Readonly<Record<string, object>> = {
  "ops-invalidate-images": { Records: [] },
  "ops-undo": { change: Number.MAX_SAFE_INTEGER, dryRun: true },
};

/**
 * Sends one version of a function its sample event.
 * @param databaseDeadline until then it waits for a database that does not respond
 * @throws if it does not respond as declared
 */
export async function tryVersion(
  lambda: LambdaClient,
  name: string,
  version: number,
  databaseDeadline: number,
): Promise<void> {
  const functionOfStage = name.slice(prefix.length);
  const deadline = performance.now() + timeoutInMilliseconds;
  const invoke = async (event: object, until = deadline) => {
    const { Payload, FunctionError, ExecutedVersion } = await lambda.send(
      new InvokeCommand({ FunctionName: name, Qualifier: `${version}`, Payload: JSON.stringify(event) }),
      { abortSignal: AbortSignal.timeout(Math.ceil(Math.max(0, until - performance.now()))) },
    );
    if (ExecutedVersion !== `${version}`)
      throw new Error(`Lambda ran version ${ExecutedVersion} instead of ${version}`);
    if (!Payload) throw new Error("Lambda returned nothing");
    return { Payload, FunctionError, text: Payload.transformToString() };
  };
  if (functionOfStage.startsWith("ops-")) {
    const event = harmless[functionOfStage];
    if (!event) return;
    // Its own deadline is Lambda's, which is after that of the deployment.
    const { FunctionError, text } = await invoke(event, databaseDeadline).catch((error: Error) => {
      throw /^(Abort|Timeout)Error$/.test(error.name) ? new DatabaseSilent() : error;
    });
    // A refusal is a response.
    if (FunctionError && !/"errorType":"Refusal"/.test(text)) throw failureOf(FunctionError, text);
    return;
  }
  const declaration = endpoints.find((each) =>
    [each, asWhole(each)].some((one) => functionName(one) === functionOfStage),
  );
  if (!declaration) throw new Error(`${name} serves no endpoint`);
  const event = await eventFor(declaration);
  const response = await finalResponse(async () => {
    const { Payload, FunctionError, text } = await invoke(event);
    if (FunctionError) throw failureOf(FunctionError, text);
    const { headers, ...rest } = lambdaResponse(Payload);
    return { ...rest, headers: new Headers(headers) };
  }, databaseDeadline);
  if (response.status === 503 && response.headers.has("Retry-After")) throw new DatabaseSilent();
  const problem = problemOf(declaration, response, expectedStatuses(declaration, false));
  if (problem !== undefined) throw new Error(problem);
}

/** Of an operators' function that cannot reach the database (lib/aws/retry.ts). */
const failureOf = (kind: string, text: string): Error =>
  /"errorType":"Unavailable"/.test(text) ? new DatabaseSilent() : new Error(`${kind}: ${text}`);

/** A sample in events/, as API Gateway would send it. */
interface Sample {
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The sample, without a session. So administrative endpoints must return 401: a GET after the database has been asked,
 * since it gets a token of no user; what changes something at once, since it gets none.
 */
async function eventFor(declaration: Declaration): Promise<Sample> {
  // The build puts all samples into the bundle.
  const sample: { default: Sample } = await import(`../../../events/${endpointPath(declaration)}.json`, {
    with: { type: "json" },
  });
  const { Cookie: _, ...headers } = sample.default.headers;
  const unknown = declaration.method === "GET" && needsCaller(declaration);
  return { ...sample.default, headers: { ...headers, ...(unknown && { Cookie: `refreshToken=${randomUUID()}` }) } };
}
