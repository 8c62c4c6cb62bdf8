import type { Duration } from "aws-cdk-lib";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import { byRoute, type Declaration, functionName, methodsOf } from "../../../lib/contract/declare.ts";
import { corsHeaders, envelopeOf, noFileServiceResponse, preflightHeaders } from "../../gateway-responses.ts";
import type { StageSettings } from "../../stages.ts";
import { streamTimeout } from "../shared/service-function.ts";
import { refusals } from "./gateway-responses.ts";
import { mock } from "./mock.ts";

export interface DefinitionProps {
  readonly prefix: string;
  readonly endpoints: readonly Declaration[];
  readonly settings: StageSettings;
  /** What serves an endpoint; nothing does where it is a file service's and there is none. */
  readonly targets: ReadonlyMap<string, IFunction>;
  /** The ARN of the role by which API Gateway calls the functions. */
  readonly invoker: string;
}

const compressedBytesMin = 1_024;

/**
 * What API Gateway imports: OpenAPI 3.0, the newest it reads, with its own extensions. It tells where each path leads.
 * What requests and answers look like is told by lib/contract/openapi.json; here their schemas would decide nothing,
 * since the functions validate by the very declarations, and all of this is part of a template. Parameters of paths need no
 * word, either: API Gateway finds them in the paths.
 */
export const definitionOf = (props: DefinitionProps) => ({
  openapi: "3.0.3",
  info: { title: props.prefix, version: "1" },
  paths: Object.fromEntries([...byRoute(props.endpoints)].map(([path, each]) => [path, operations(each, props)])),
  "x-amazon-apigateway-gateway-responses": refusals(),
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

/** Lists have no end, so they are streamed, and streams may take as long as their function. */
function proxy({ answers }: Declaration, target: IFunction, invoker: string, timeout: Duration) {
  const isStream = "list" in answers;
  const { partition, region } = target.stack;
  const [version, action] = isStream ? ["2021-11-15", "response-streaming-invocations"] : ["2015-03-31", "invocations"];
  return {
    // Proxies pass on what the function gives.
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
