import { render } from "velocityjs";
import { type Properties, type Resource, spell, type Template } from "./synthesis.ts";

/** What API Gateway would answer by itself, worked out from a template. */
export interface Answer {
  readonly status: number;
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

type Headers = Readonly<Record<string, string>>;

/** An operation of the OpenAPI document that API Gateway imports. */
export type Operation = Properties;

/** The operations of the imported document by route: `GET /contributor/slug/{slug}`. */
export function operationsOf(template: Template): ReadonlyMap<string, Operation> {
  const { openapi, paths } = template.one("ApiGateway::RestApi").Properties.Body;
  if (!openapi.startsWith("3.0.")) throw new Error(`API Gateway does not read OpenAPI ${openapi}`);
  return new Map(
    Object.entries<Properties>(paths).flatMap(([path, item]) =>
      Object.entries<Operation>(item).map(([method, operation]) => {
        if (!/^(get|head|post|delete|options)$/.test(method)) throw new Error(`${method} is no method of ours`);
        if (!operation.responses) throw new Error("An operation has responses, if none that is told");
        return [`${method.toUpperCase()} ${path}`, operation];
      }),
    ),
  );
}

/** How API Gateway answers an operation. */
export const integrationOf = (operation: Operation | undefined): Properties =>
  operation?.["x-amazon-apigateway-integration"] ?? {};

/** What a Lambda integration invokes: a function, or its alias. */
export function invokedBy(template: Template, operation: Operation | undefined): Resource {
  const [id] = spell(integrationOf(operation).uri).match(/(?<=functions\/\$\{)\w+/) ?? [];
  return template.find({ Ref: id });
}

/** The answer of a mock integration (API Gateway, "Mock integrations" and "Mapping template reference"). */
export function mockAnswer(operation: Operation, request: Headers): Answer {
  const { type, passthroughBehavior, requestTemplates, responses } = integrationOf(operation);
  if (type !== "mock") throw new Error("This is no mock");
  const template = requestTemplates[request["Content-Type"] ?? "application/json"];
  if (!template && passthroughBehavior === "never") throw new Error("This would be 415");
  const { statusCode } = JSON.parse(template);
  const response: Properties = responses.default;
  if (response.statusCode !== String(statusCode)) throw new Error(`No answer has the status ${statusCode}`);
  const override: Record<string, string> = {};
  const body = render(response.responseTemplates["application/json"], {
    input: { params: () => ({ header: { get: (name: string) => request[name] } }) },
    context: { responseOverride: { header: override } },
  });
  const headers = { ...constants(response.responseParameters, "method.response.header."), ...lowerCase(override) };
  const declared = Object.keys(lowerCase(operation.responses[statusCode].headers));
  for (const name of Object.keys(headers)) {
    if (!declared.includes(name)) throw new Error(`The operation does not declare ${name}`);
  }
  return { status: statusCode, headers, body };
}

/** The gateway responses of the imported document, by type. */
export const gatewayResponsesOf = (template: Template): Readonly<Record<string, Properties>> =>
  template.one("ApiGateway::RestApi").Properties.Body["x-amazon-apigateway-gateway-responses"];

/** The answer of a gateway response (API Gateway, "Gateway responses"): no template language, only variables. */
export function gatewayResponse(template: Template, type: string, request: Headers, context: Headers = {}): Answer {
  const { statusCode, responseParameters, responseTemplates } = gatewayResponsesOf(template)[type] ?? {};
  const body = (responseTemplates["application/json"] as string).replace(
    /\$context\.([\w.]+)/g,
    (_, name) => context[name] ?? "",
  );
  // Over HTTP/2 names arrive in lower case, and nothing says that a mapping ignores case.
  const sent = lowerCase(request);
  const mapped = Object.entries<string>(responseParameters).flatMap(([name, value]) => {
    const asked = /^method\.request\.header\.(.+)$/.exec(value)?.[1];
    const given = asked ? sent[asked] : value.replace(/^'(.*)'$/, "$1");
    return given === undefined ? [] : [[name.replace("gatewayresponse.header.", ""), given]];
  });
  return { status: Number(statusCode), headers: lowerCase(Object.fromEntries(mapped)), body };
}

const constants = (parameters: Headers = {}, prefix: string) =>
  lowerCase(
    Object.fromEntries(
      Object.entries(parameters).map(([name, value]) => [name.slice(prefix.length), value.replace(/^'(.*)'$/, "$1")]),
    ),
  );

const lowerCase = <Value>(headers: Readonly<Record<string, Value>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
