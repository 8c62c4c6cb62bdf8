import { randomUUID } from "node:crypto";
import { InvokeCommand, type LambdaClient } from "@aws-sdk/client-lambda";
import { asWhole, type Declaration, endpointPath, functionName, needsCaller } from "../../contract/declare.ts";
import { endpoints } from "../../contract/endpoints.ts";
import { expectedStatuses, finalResponse, problemOf } from "../../contract/expected-response.ts";
import { lambdaResponse } from "./lambda-response.ts";

/** `colophon-prod-` */
const prefix = process.env.FUNCTION_PREFIX ?? "";

/** A paused database takes up to a minute to resume, and a busy function is throttled. CloudFormation waits for 15 minutes. */
const timeoutInMilliseconds = 5 * 60_000;

/**
 * Sends one version of an endpoint's function its sample event.
 * @throws if it does not respond as declared
 */
export async function tryVersion(lambda: LambdaClient, name: string, version: number): Promise<void> {
  const declaration = endpoints.find((each) =>
    [each, asWhole(each)].some((one) => prefix + functionName(one) === name),
  );
  if (!declaration) throw new Error(`${name} serves no endpoint`);
  const event = await eventFor(declaration);
  const deadline = performance.now() + timeoutInMilliseconds;
  const response = await finalResponse(async () => {
    const { Payload, FunctionError, ExecutedVersion } = await lambda.send(
      new InvokeCommand({ FunctionName: name, Qualifier: `${version}`, Payload: JSON.stringify(event) }),
      { abortSignal: AbortSignal.timeout(Math.ceil(Math.max(0, deadline - performance.now()))) },
    );
    if (ExecutedVersion !== `${version}`)
      throw new Error(`Lambda ran version ${ExecutedVersion} instead of ${version}`);
    if (!Payload) throw new Error("Lambda returned nothing");
    if (FunctionError) throw new Error(`${FunctionError}: ${Payload.transformToString()}`);
    const { headers, ...rest } = lambdaResponse(Payload);
    return { ...rest, headers: new Headers(headers) };
  }, deadline);
  const problem = problemOf(declaration, response, expectedStatuses(declaration, false));
  if (problem !== undefined) throw new Error(problem);
}

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
