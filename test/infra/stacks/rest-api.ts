import { render } from "velocityjs";
import type { Properties, Resource, Template } from "./synthesis.ts";

/** What API Gateway would answer by itself, worked out from a template. */
export interface Answer {
  readonly status: number;
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

type Headers = Readonly<Record<string, string>>;

/** `GET /contributor/slug/{slug}` of a method in a template. */
export function routeOf(template: Template, { Properties }: Resource): string {
  return `${Properties.HttpMethod} ${pathOf(template, Properties.ResourceId)}`;
}

function pathOf(template: Template, reference: unknown): string {
  if ((reference as Properties)["Fn::GetAtt"]?.[1] === "RootResourceId") return "";
  const { ParentId, PathPart } = template.find(reference).Properties;
  return `${pathOf(template, ParentId)}/${PathPart}`;
}

/** The answer of a mock integration (API Gateway, "Mock integrations" and "Mapping template reference"). */
export function mockAnswer({ Properties }: Resource, request: Headers): Answer {
  const { Type, RequestTemplates, IntegrationResponses } = Properties.Integration;
  if (Type !== "MOCK") throw new Error("This is no mock");
  const type = request["Content-Type"] ?? "application/json";
  const { statusCode } = JSON.parse(RequestTemplates[type]);
  const response = (IntegrationResponses as Properties[]).find((each) => each.StatusCode === String(statusCode));
  const declared: Properties = Properties.MethodResponses.find(
    (each: Properties) => each.StatusCode === response?.StatusCode,
  );
  const override: Record<string, string> = {};
  const body = render(response?.ResponseTemplates["application/json"], {
    input: { params: () => ({ header: { get: (name: string) => request[name] } }) },
    context: { responseOverride: { header: override } },
  });
  const headers = { ...constants(response?.ResponseParameters, "method.response.header."), ...lowerCase(override) };
  for (const name of Object.keys(headers)) {
    const names = Object.keys(declared.ResponseParameters).map((each) => each.toLowerCase());
    if (!names.includes(`method.response.header.${name}`)) throw new Error(`The method does not declare ${name}`);
  }
  return { status: statusCode, headers, body };
}

/** The answer of a gateway response (API Gateway, "Gateway responses"): no template language, only variables. */
export function refusal(template: Template, type: string, request: Headers, context: Headers = {}): Answer {
  const found = template.all("ApiGateway::GatewayResponse").find((each) => each.Properties.ResponseType === type);
  const { StatusCode, ResponseParameters, ResponseTemplates } = found?.Properties ?? {};
  const body = (ResponseTemplates["application/json"] as string).replace(
    /\$context\.([\w.]+)/g,
    (_, name) => context[name] ?? "",
  );
  // Over HTTP/2 names arrive in lower case, and nothing says that a mapping ignores case.
  const sent = lowerCase(request);
  const mapped = Object.entries<string>(ResponseParameters).flatMap(([name, value]) => {
    const asked = /^method\.request\.header\.(.+)$/.exec(value)?.[1];
    const given = asked ? sent[asked] : value.replace(/^'(.*)'$/, "$1");
    return given === undefined ? [] : [[name.replace("gatewayresponse.header.", ""), given]];
  });
  return { status: Number(StatusCode), headers: lowerCase(Object.fromEntries(mapped)), body };
}

const constants = (parameters: Headers = {}, prefix: string) =>
  lowerCase(
    Object.fromEntries(
      Object.entries(parameters).map(([name, value]) => [name.slice(prefix.length), value.replace(/^'(.*)'$/, "$1")]),
    ),
  );

const lowerCase = (headers: Headers) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
