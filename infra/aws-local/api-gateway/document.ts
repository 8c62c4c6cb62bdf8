import * as z from "zod";
import { headerMappings, mappingTemplate } from "./mapping.ts";

/**
 * A part of an OpenAPI document. What it says for people is ignored; an extension of API Gateway that this gateway does
 * not run is an error, and so is `security` that it does not check, without which everybody could call the API.
 */
const openApi = <const Shape extends z.ZodRawShape>(shape: Shape) =>
  z.looseObject(shape).check(({ value, issues }) => {
    for (const key of Object.keys(value)) {
      if (Object.hasOwn(shape, key) || !/^(x-amazon-apigateway-|security$)/.test(key)) continue;
      issues.push({ code: "custom", message: `${key} is not supported`, input: value });
    }
  });

const status = z.string().regex(/^[2-5]\d\d$/, "not a status such as 204");
const json = <Template extends z.ZodType>(template: Template) => z.strictObject({ "application/json": template });

const functionUri =
  /:lambda:path\/[\d-]+\/functions\/(?:arn:[^/]*:function:)?([\w-]+)(?::[\w-]+)?\/(?:response-streaming-)?invocations$/;

/** A Lambda function that gets the whole request, and whose result is the response. */
const proxyIntegration = z.strictObject({
  type: z.literal("aws_proxy"),
  httpMethod: z.literal("POST", "Lambda functions are invoked by POST"),
  /** Read as the function's name. */
  uri: z
    .string()
    .regex(functionUri, "not the URI of a Lambda function")
    .transform((uri) => functionUri.exec(uri)?.[1] ?? ""),
  credentials: z.optional(z.string()),
  responseTransferMode: z.optional(z.enum(["BUFFERED", "STREAM"])),
  timeoutInMillis: z.optional(z.int()),
});

/** A response that API Gateway makes by itself: the request's template gives its status. */
const mockIntegration = z.strictObject({
  type: z.literal("mock"),
  passthroughBehavior: z.literal("never"),
  requestTemplates: z.record(z.string(), mappingTemplate),
  responses: z.strictObject({
    default: z.strictObject({
      statusCode: status,
      responseParameters: headerMappings(
        "method.response.header.",
        z
          .string()
          .regex(/^'.*'$/, "not a 'constant'")
          .transform((constant) => constant.slice(1, -1)),
      ),
      responseTemplates: json(mappingTemplate),
    }),
  }),
});

/** The scheme by which a method needs an API key; API Gateway takes it by no other header. */
const keyScheme = z.strictObject({
  type: z.literal("apiKey"),
  name: z.literal("x-api-key"),
  in: z.literal("header"),
});

const operation = openApi({
  security: z.array(z.record(z.string(), z.tuple([]))).default([]),
  responses: z.record(z.string(), z.object({ headers: z.optional(z.record(z.string(), z.unknown())) })),
  "x-amazon-apigateway-integration": z.discriminatedUnion("type", [proxyIntegration, mockIntegration], {
    error: ({ input }) => `unknown integration type ${JSON.stringify(Object(input).type)}`,
  }),
}).check(({ value: { responses, "x-amazon-apigateway-integration": integration }, issues }) => {
  if (issues.length > 0 || integration.type !== "mock") return;
  const { statusCode, responseParameters } = integration.responses.default;
  for (const [name] of responseParameters) {
    if (Object.hasOwn(responses[statusCode]?.headers ?? {}, name)) continue;
    // API Gateway would refuse to import it.
    issues.push({ code: "custom", message: `the operation does not declare the header ${name}`, input: name });
  }
});

const gatewayResponse = z.strictObject({
  statusCode: z.optional(status),
  responseParameters: headerMappings(
    "gatewayresponse.header.",
    z.string().regex(/^('.*'|method\.request\.header\.[\w-]+)$/, "neither a 'constant' nor method.request.header.NAME"),
  ),
  responseTemplates: z.optional(json(z.string())),
});

const methods = z.enum(["get", "head", "post", "put", "patch", "delete", "options"]);

const documentSchema = openApi({
  openapi: z.string().regex(/^3\.0\./, "API Gateway imports version 3.0"),
  paths: z.record(
    z.string().regex(/^(\/|(\/([^/{}]+|\{[\w-]+\}))+)$/, "not a path of plain segments and {parameters}"),
    z.partialRecord(methods, operation),
  ),
  components: z.looseObject({ securitySchemes: z.record(z.string(), keyScheme).default({}) }).prefault({}),
  "x-amazon-apigateway-api-key-source": z.optional(z.literal("HEADER")),
  "x-amazon-apigateway-gateway-responses": z.record(z.string(), gatewayResponse).default({}),
  "x-amazon-apigateway-minimum-compression-size": z.int().default(Number.MAX_SAFE_INTEGER),
  "x-amazon-apigateway-binary-media-types": z.array(z.string()).default([]),
});

type Document = z.infer<typeof documentSchema>;

export type MockIntegration = z.infer<typeof mockIntegration>;
export type Integration = z.infer<typeof operation>["x-amazon-apigateway-integration"];
export type GatewayResponses = Readonly<Record<string, z.infer<typeof gatewayResponse>>>;

/**
 * Reads the document of a REST API (API Gateway, "OpenAPI extensions for API Gateway").
 * @throws {Error} that says in one line what cannot be run, and where
 */
export function readDocument(document: unknown): Document {
  const { data, error } = documentSchema.safeParse(document);
  if (data) return withKnownSchemes(data);
  const [issue] = error.issues;
  const { message } = (issue?.code === "invalid_key" ? issue.issues[0] : issue) ?? error;
  throw new Error(`${placeOf(issue?.path ?? [])}: ${message}`);
}

/** @throws if an operation names a scheme that the document does not define */
function withKnownSchemes(document: Document): Document {
  for (const [path, operations] of Object.entries(document.paths))
    for (const [method, { security }] of Object.entries(operations))
      for (const name of security.flatMap(Object.keys))
        if (!Object.hasOwn(document.components.securitySchemes, name))
          throw new Error(`${method.toUpperCase()} ${path}: there is no security scheme ${name}`);
  return document;
}

/** `["paths", "/x", "post", …]` as `POST /x`, and what lies deeper or elsewhere by its names. */
function placeOf([first, ...rest]: readonly PropertyKey[]): string {
  if (first !== "paths") return [first ?? "API document", ...rest].join(" ");
  const [path, method = "", ...deeper] = rest;
  const where = `${String(method).toUpperCase()} ${String(path)}`.trim();
  const field = deeper.filter((each) => each !== "x-amazon-apigateway-integration" && each !== "type").join(" ");
  return field === "" ? where : `${where}: ${field}`;
}
