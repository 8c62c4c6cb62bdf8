import type { APIGatewayProxyEvent } from "aws-lambda";
import type { Lambda, StreamedInvocation } from "../lambda/lambda.ts";
import type { FunctionError } from "../lambda/messages.ts";
import { printLog } from "../log.ts";
import type { MockIntegration, Operation, ProxyIntegration } from "./document.ts";
import { GatewayError } from "./gateway-responses.ts";
import { mappingTemplate, parameterMappings } from "./mapping.ts";
import { isBinary, mediaTypeOf } from "./proxy-event.ts";
import { headOf, type ProxyResult, resultOf, type StreamedResult } from "./proxy-result.ts";

/** Answers a request, which it gets as the event of a proxy integration. */
export type Integration = (event: APIGatewayProxyEvent) => Promise<ProxyResult | StreamedResult>;

export interface IntegrationOptions {
  readonly lambda: Pick<Lambda, "names" | "invoke" | "stream">;
  /** Of integrations that do not say how long they may take. */
  readonly timeoutInMilliseconds: number;
  /** Their bodies are sent to functions, and taken from them, as Base64. */
  readonly binaryTypes: readonly string[];
}

/** The function's code does not build; on AWS it would not have been deployed. */
export class BuildError extends Error {
  override readonly name = "BuildError";
}

/**
 * The integration of an operation.
 * @param where the operation, for errors: `GET /x`
 * @throws {Error} when it cannot be run
 */
export function integrationOf(where: string, operation: Operation, options: IntegrationOptions): Integration {
  const integration = operation["x-amazon-apigateway-integration"];
  if (integration.type === "mock") return mock(where, integration, operation.responses);
  if (!options.lambda.names.has(integration.uri)) throw new Error(`${where}: there is no function ${integration.uri}`);
  return integration.responseTransferMode === "STREAM"
    ? streamed(integration, options)
    : buffered(integration, options);
}

function mock(
  where: string,
  { requestTemplates, responses: { default: defined } }: MockIntegration,
  declared: Operation["responses"],
): Integration {
  const { statusCode, responseParameters = {}, responseTemplates } = defined;
  const statusTemplates = new Map(
    Object.entries(requestTemplates).map(([type, text]) => [type, mappingTemplate(where, text)]),
  );
  const headersOf = parameterMappings(where, "method.response.header.", responseParameters);
  const render = mappingTemplate(where, responseTemplates["application/json"]);
  // API Gateway refuses to import a mapping to a header that the operation does not declare.
  for (const [name] of headersOf({})) {
    if (!(name in (declared[statusCode]?.headers ?? {}))) throw new Error(`${where}: ${name} is not declared`);
  }
  return async (event) => {
    const statusTemplate = statusTemplates.get(mediaTypeOf(event.headers, "content-type") ?? "application/json");
    if (!statusTemplate) throw new GatewayError("UNSUPPORTED_MEDIA_TYPE");
    if (String(JSON.parse(statusTemplate(event).text).statusCode) !== statusCode) throw new GatewayError("DEFAULT_5XX");
    const { text, headers } = render(event);
    return { statusCode: Number(statusCode), headers: [...headersOf({}), ...headers], body: Buffer.from(text) };
  };
}

/** Lambda proxy integration with ResponseTransferMode BUFFERED. */
const buffered =
  ({ uri: name, timeoutInMillis }: ProxyIntegration, options: IntegrationOptions): Integration =>
  async (event) => {
    const milliseconds = timeoutInMillis ?? options.timeoutInMilliseconds;
    const invocation = await inTime(options.lambda.invoke(name, event), milliseconds);
    if ("error" in invocation) throw errorOf(invocation.error);
    const acceptsBinary = isBinary(mediaTypeOf(event.headers, "accept"), options.binaryTypes);
    return resultOf(invocation.result, acceptsBinary) ?? malformed(name);
  };

/** Lambda proxy integration with ResponseTransferMode STREAM; settles when the head has arrived. */
const streamed =
  ({ uri: name, timeoutInMillis }: ProxyIntegration, options: IntegrationOptions): Integration =>
  async (event) => {
    const milliseconds = timeoutInMillis ?? options.timeoutInMilliseconds;
    const endsAt = performance.now() + milliseconds;
    const work = options.lambda.stream(name, event);
    const invocation = await inTime(work, milliseconds).catch((error: unknown) => {
      work.then(abandon, () => {});
      throw error;
    });
    if ("error" in invocation) throw errorOf(invocation.error);
    const { body } = invocation;
    const head = headOf(invocation.head);
    if (!head) {
      abandon(invocation);
      return malformed(name);
    }
    const timer = setTimeout(() => body.destroy(new GatewayError("INTEGRATION_TIMEOUT")), endsAt - performance.now());
    body.once("close", () => clearTimeout(timer));
    return { ...head, stream: body };
  };

/** The error for a function that has failed; the runtime has logged the reason. */
const errorOf = ({ errorType, errorMessage }: FunctionError) =>
  errorType === "BuildFailure" ? new BuildError(errorMessage) : new GatewayError("INTEGRATION_FAILURE");

function abandon(invocation: StreamedInvocation): void {
  if ("body" in invocation) invocation.body.destroy();
}

function malformed(name: string): never {
  printLog("error", JSON.stringify({ level: "error", function: name, message: "Malformed Lambda proxy response" }));
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
