import type { APIGatewayProxyEvent } from "aws-lambda";
import type { Lambda } from "../lambda/lambda.ts";
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

/** Gives the result of an integration for a request, which it gets as the event of a proxy integration. */
export async function integrate(
  integration: Integration,
  event: APIGatewayProxyEvent,
  { lambda, timeoutInMilliseconds, binaryTypes }: IntegrationOptions,
): Promise<ProxyResult | StreamedResult> {
  if (integration.type === "mock") return mock(integration, event);
  const { uri: name, responseTransferMode, timeoutInMillis = timeoutInMilliseconds } = integration;
  if (responseTransferMode === "STREAM") return await streamed(lambda, name, event, timeoutInMillis);
  const invocation = await inTime(lambda.invoke(name, event), timeoutInMillis);
  if ("error" in invocation) return failed(invocation.error);
  return resultOf(invocation.result, isBinary(event.headers, "accept", binaryTypes)) ?? malformed(name);
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

/** Settles when the head has arrived. */
async function streamed(
  lambda: IntegrationOptions["lambda"],
  name: string,
  event: unknown,
  milliseconds: number,
): Promise<ProxyResult | StreamedResult> {
  const endsAt = performance.now() + milliseconds;
  const work = lambda.stream(name, event);
  const invocation = await inTime(work, milliseconds).catch((error: unknown) => {
    work.then((late) => "body" in late && late.body.destroy()).catch(() => {});
    throw error;
  });
  if ("error" in invocation) return failed(invocation.error);
  const { body: stream } = invocation;
  const head = headOf(invocation.head);
  if (!head) {
    stream.destroy();
    return malformed(name);
  }
  const timer = setTimeout(() => stream.destroy(new GatewayError("INTEGRATION_TIMEOUT")), endsAt - performance.now());
  stream.once("close", () => clearTimeout(timer));
  return { ...head, stream };
}

/** The result of a function that has failed. Only a developer gets a reason: on AWS code that does not build is not deployed. */
function failed({ errorType, errorMessage }: FunctionError): ProxyResult {
  if (errorType !== "BuildFailure") throw new GatewayError("INTEGRATION_FAILURE");
  return { statusCode: 500, headers: [], body: Buffer.from(JSON.stringify({ message: errorMessage })) };
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
