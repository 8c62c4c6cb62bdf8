import type { Duration } from "aws-cdk-lib";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import { byRoute, type Declaration, functionName, methodsOf } from "../../lib/contract/declare.ts";
import type { StageSettings } from "../settings/schema.ts";
import { streamTimeout } from "../stacks/shared/service-function.ts";
import { responseDefinitions } from "./gateway-response-definitions.ts";
import { corsHeaders, envelopeOf, noFileServiceResponse, preflightHeaders } from "./gateway-responses.ts";
import { mock } from "./mock.ts";

export interface DefinitionProps {
  readonly prefix: string;
  readonly endpoints: readonly Declaration[];
  readonly settings: StageSettings;
  /** The function of each endpoint, by name. Endpoints of the file service have none on a stage without uploads. */
  readonly targets: ReadonlyMap<string, IFunction>;
  /** The ARN of the role by which API Gateway calls the functions. */
  readonly invoker: string;
}

const compressedBytesMin = 1_024;

/**
 * The OpenAPI document that API Gateway imports: version 3.0, the newest that it supports, with its own extensions. It
 * maps each path to its integration. It has no schemas (lib/contract/openapi.json has them): the functions validate,
 * and the template, which contains this document, stays small. API Gateway finds path parameters in the paths.
 */
export const definitionOf = (props: DefinitionProps) => ({
  openapi: "3.0.3",
  info: { title: props.prefix, version: "1" },
  paths: Object.fromEntries([...byRoute(props.endpoints)].map(([path, each]) => [path, operations(each, props)])),
  "x-amazon-apigateway-gateway-responses": responseDefinitions(),
  "x-amazon-apigateway-minimum-compression-size": compressedBytesMin,
});

function operations(declarations: readonly Declaration[], props: DefinitionProps) {
  const { allowedOrigins: origins } = props.settings;
  const headersFor = (origin: string | undefined) => preflightHeaders(declarations, origins, origin);
  return {
    ...Object.fromEntries(
      declarations.flatMap((each) => methodsOf(each).map((method) => [method.toLowerCase(), operation(each, props)])),
    ),
    options: mock({ status: 204, body: "", headersFor, origins }),
  };
}

function operation(declaration: Declaration, { settings, targets, invoker }: DefinitionProps) {
  const target = targets.get(functionName(declaration));
  if (target) return proxy(declaration, target, invoker, streamTimeout(settings));
  if (!declaration.files) throw new Error(`Nothing serves ${declaration.method} ${declaration.path}`);
  const { allowedOrigins: origins } = settings;
  const headersFor = (origin: string | undefined) => corsHeaders(declaration, origins, origin);
  return mock({ status: noFileServiceResponse.status, body: envelopeOf(noFileServiceResponse), headersFor, origins });
}

/** Lists can have any length, so they are streamed. A stream may take as long as the timeout of its function. */
function proxy({ answers }: Declaration, target: IFunction, invoker: string, timeout: Duration) {
  const isStream = "list" in answers;
  const { partition, region } = target.stack;
  const [version, action] = isStream ? ["2021-11-15", "response-streaming-invocations"] : ["2015-03-31", "invocations"];
  return {
    // A proxy integration returns the function's response unchanged.
    responses: {},
    "x-amazon-apigateway-integration": {
      type: "aws_proxy",
      httpMethod: "POST",
      uri: `arn:${partition}:apigateway:${region}:lambda:path/${version}/functions/${target.functionArn}/${action}`,
      credentials: invoker,
      ...(isStream ? { responseTransferMode: "STREAM", timeoutInMillis: timeout.toMilliseconds() } : {}),
    },
  };
}
