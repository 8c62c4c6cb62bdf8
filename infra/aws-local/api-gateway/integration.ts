import type { APIGatewayProxyEvent } from "aws-lambda";
import type { Lambda, StreamedInvocation } from "../lambda/lambda.ts";
import type { FunctionError } from "../lambda/messages.ts";
import type { Integration, MockIntegration } from "./document.ts";
import { GatewayError } from "./gateway-responses.ts";
import { render } from "./mapping.ts";
import { isBinary, mediaTypeOf } from "./proxy-event.ts";
import { headOf, type ProxyResult, resultOf, type StreamedResult } from "./proxy-result.ts";

export interface IntegrationOptions {
  readonly lambda: Pick<Lambda, "names" | "invoke" | "stream">;
  /** Of integrations that do not say how long they may take. */
  readonly timeoutInMilliseconds: number;
  /** Functions get and return their bodies as Base64. */
  readonly binaryTypes: readonly string[];
}

/** The function's code does not build; on AWS it would not have been deployed. */
export class BuildError extends Error {
  override readonly name = "BuildError";
}

/** Gives the result of an integration for a request, which it gets as the event of a proxy integration. */
export async function integrate(
  integration: Integration,
  event: APIGatewayProxyEvent,
  { lambda, timeoutInMilliseconds, binaryTypes }: IntegrationOptions,
): Promise<ProxyResult | StreamedResult> {
  if (integration.type === "mock") return mock(integration, event);
  const { uri: name, responseTransferMode, timeoutInMillis = timeoutInMilliseconds } = integration;
  if (responseTransferMode === "STREAM") return await streamed(lambda, name, event, timeoutInMillis);
  const acceptsBinary = isBinary(event.headers, "accept", binaryTypes);
  return await buffered(lambda, name, event, timeoutInMillis, acceptsBinary);
}

function mock({ requestTemplates, responses }: MockIntegration, event: APIGatewayProxyEvent): ProxyResult {
  const requestTemplate = requestTemplates[mediaTypeOf(event.headers, "content-type") ?? "application/json"];
  if (!requestTemplate) throw new GatewayError("UNSUPPORTED_MEDIA_TYPE");
  const { statusCode, responseParameters, responseTemplates } = responses.default;
  if (`${JSON.parse(render(requestTemplate, event).text).statusCode}` !== statusCode)
    throw new GatewayError("DEFAULT_5XX");
  const { text, headers } = render(responseTemplates["application/json"], event);
  return { statusCode: Number(statusCode), headers: [...responseParameters, ...headers], body: Buffer.from(text) };
}

type Invoker = IntegrationOptions["lambda"];

/** Lambda proxy integration with ResponseTransferMode BUFFERED. */
async function buffered(
  lambda: Invoker,
  name: string,
  event: unknown,
  milliseconds: number,
  acceptsBinary: boolean,
): Promise<ProxyResult> {
  const invocation = await inTime(lambda.invoke(name, event), milliseconds);
  if ("error" in invocation) throw errorOf(invocation.error);
  return resultOf(invocation.result, acceptsBinary) ?? malformed(name);
}

/** Lambda proxy integration with ResponseTransferMode STREAM; settles when the head has arrived. */
async function streamed(lambda: Invoker, name: string, event: unknown, milliseconds: number): Promise<StreamedResult> {
  const endsAt = performance.now() + milliseconds;
  const work = lambda.stream(name, event);
  const invocation = await inTime(work, milliseconds).catch((error: unknown) => {
    work.then(abandon, () => {});
    throw error;
  });
  if ("error" in invocation) throw errorOf(invocation.error);
  const { body: stream } = invocation;
  const head = headOf(invocation.head);
  if (!head) {
    abandon(invocation);
    return malformed(name);
  }
  const timer = setTimeout(() => stream.destroy(new GatewayError("INTEGRATION_TIMEOUT")), endsAt - performance.now());
  stream.once("close", () => clearTimeout(timer));
  return { ...head, stream };
}

/** The error for a function that has failed; the runtime has logged the reason. */
const errorOf = ({ errorType, errorMessage }: FunctionError) =>
  errorType === "BuildFailure" ? new BuildError(errorMessage) : new GatewayError("INTEGRATION_FAILURE");

function abandon(invocation: StreamedInvocation): void {
  if ("body" in invocation) invocation.body.destroy();
}

function malformed(name: string): never {
  console.error(`Malformed Lambda proxy response of ${name}`);
  throw new GatewayError("DEFAULT_5XX");
}

async function inTime<Outcome>(work: Promise<Outcome>, milliseconds: number): Promise<Outcome> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new GatewayError("INTEGRATION_TIMEOUT")), milliseconds);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
