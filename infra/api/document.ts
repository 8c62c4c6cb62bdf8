import { byRoute, type Declaration, functionName, isNavigation, methodsOf } from "../../lib/contract/declare.ts";
import { noFileService, noSignIn } from "../../lib/contract/errors.ts";
import { envelopeOf, gatewayResponseDefinitions } from "./gateway-responses.ts";
import { errorMock, preflightMock } from "./mock.ts";
import { wholeLists } from "./whole-lists.ts";

/**
 * Those of a stage that its document depends on. Without `uploads` and `signIn` the routes of the file service and of
 * sign-in are 503; with an edge every method needs an API key.
 */
export interface DocumentSettings extends Partial<Record<"edge" | "domain" | "signIn", unknown>> {
  /** Origins of pages that may call administrative endpoints. */
  readonly allowedOrigins: readonly string[];
  readonly uploads: boolean;
  /** The address of the reference; unknown routes link to it. */
  readonly reference?: string | undefined;
  readonly streams: { readonly secondsMax: number };
}

type ServedSettings = Pick<DocumentSettings, "uploads" | "signIn">;

export interface ApiDocumentProps {
  readonly title: string;
  readonly endpoints: readonly Declaration[];
  readonly settings: DocumentSettings;
  readonly partition: string;
  readonly region: string;
  /** The ARN of the function with this name. */
  readonly functionArnOf: (name: string) => string;
  /** The ARN of the role by which API Gateway calls the functions. */
  readonly invokerArn: string;
}

const compressedBytesMin = 1_024;

/**
 * The OpenAPI document that API Gateway imports, on AWS and on this machine: version 3.0, the newest that it supports,
 * with its own extensions. It maps each path to its integration. It has no schemas (lib/client/openapi.json has them):
 * the functions validate, and the template, which contains this document, stays small. API Gateway finds path
 * parameters in the paths.
 */
export const apiDocument = (props: ApiDocumentProps) => ({
  openapi: "3.0.3",
  info: { title: props.title, version: "1" },
  paths: Object.fromEntries(
    [...byRoute(routedEndpoints(props.endpoints, props.settings))].map(([path, each]) => [
      path,
      operations(each, props),
    ]),
  ),
  ...(needsKey(props.settings) ? keyScheme : {}),
  "x-amazon-apigateway-gateway-responses": gatewayResponseDefinitions(props.settings.reference),
  "x-amazon-apigateway-minimum-compression-size": compressedBytesMin,
});

/**
 * With an edge all methods, preflights too, need a key that CloudFront sends. While a domain of API Gateway moves to the
 * edge, visitors still come by both, and by that domain without a key.
 */
const needsKey = ({ edge, domain }: DocumentSettings): boolean => Boolean(edge) && domain === undefined;

/** The endpoints, and on a stage with an edge the paths of whole lists, to which only the edge sends. */
export const routedEndpoints = (
  endpoints: readonly Declaration[],
  { edge }: Pick<DocumentSettings, "edge">,
): readonly Declaration[] => (edge ? [...endpoints, ...wholeLists(endpoints)] : endpoints);

/** API Gateway, "x-amazon-apigateway-api-key-source property": a method with this scheme has `apiKeyRequired`. */
const keyScheme = {
  components: { securitySchemes: { key: { type: "apiKey", name: "x-api-key", in: "header" } } },
  "x-amazon-apigateway-api-key-source": "HEADER",
};

function operations(declarations: readonly Declaration[], props: ApiDocumentProps) {
  const { allowedOrigins } = props.settings;
  const security = needsKey(props.settings) ? { security: [{ key: [] }] } : {};
  const operation = (each: Declaration) => {
    const refusal = refusalOf(each, props.settings);
    return {
      ...(refusal ? errorMock(each, refusal.status, envelopeOf(refusal), allowedOrigins) : proxy(each, props)),
      ...security,
    };
  };
  return {
    ...Object.fromEntries(
      declarations.flatMap((each) => methodsOf(each).map((method) => [method.toLowerCase(), operation(each)])),
    ),
    ...(declarations.every(isNavigation)
      ? {}
      : { options: { ...preflightMock(declarations, allowedOrigins), ...security } }),
  };
}

/** Whether a stage with these settings has the endpoint's function. */
export const isServed = (declaration: Declaration, settings: ServedSettings): boolean =>
  refusalOf(declaration, settings) === undefined;

/** The response of API Gateway itself on a stage without files or sign-in. */
function refusalOf({ needsFileService, needsSignIn }: Declaration, { uploads, signIn }: ServedSettings) {
  if (needsFileService && !uploads) return { status: 503, message: noFileService };
  return needsSignIn && !signIn ? { status: 503, message: noSignIn } : undefined;
}

/** Lists can have any length, so they are streamed. A stream may take as long as the timeout of its function. */
function proxy(declaration: Declaration, { settings, partition, region, functionArnOf, invokerArn }: ApiDocumentProps) {
  const isStream = "list" in declaration.response;
  const [version, action] = isStream ? ["2021-11-15", "response-streaming-invocations"] : ["2015-03-31", "invocations"];
  const functionArn = functionArnOf(functionName(declaration));
  return {
    // A proxy integration returns the function's response unchanged.
    responses: {},
    "x-amazon-apigateway-integration": {
      type: "aws_proxy",
      httpMethod: "POST",
      uri: `arn:${partition}:apigateway:${region}:lambda:path/${version}/functions/${functionArn}/${action}`,
      credentials: invokerArn,
      ...(isStream ? { responseTransferMode: "STREAM", timeoutInMillis: 1_000 * settings.streams.secondsMax } : {}),
    },
  };
}
