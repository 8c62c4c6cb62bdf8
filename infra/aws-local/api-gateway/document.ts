import * as z from "zod";

/**
 * A part of an OpenAPI document. What it says for people is ignored; an extension of API Gateway that this gateway does
 * not run is an error, and so is `security`, without which everybody could call the API.
 */
const openApi = <const Shape extends z.ZodRawShape>(shape: Shape) =>
  z.looseObject(shape).check(({ value, issues }) => {
    for (const key of Object.keys(value)) {
      if (Object.hasOwn(shape, key) || !/^(x-amazon-apigateway-|security$)/.test(key)) continue;
      issues.push({ code: "custom", message: `${key} is not supported`, input: value });
    }
  });

const status = z.string().regex(/^[2-5]\d\d$/, "a status such as 204");
const templates = z.record(z.string(), z.string());

const functionUri =
  /:lambda:path\/[\d-]+\/functions\/(?:arn:[^/]*:function:)?([\w-]+)(?::[\w-]+)?\/(?:response-streaming-)?invocations$/;

/** A Lambda function that gets the whole request, and whose result is the response. */
const proxyIntegration = z.strictObject({
  type: z.literal("aws_proxy"),
  httpMethod: z.literal("POST", "Lambda functions are invoked by POST"),
  uri: z
    .string()
    .regex(functionUri, "the URI of a Lambda function")
    .transform((uri) => functionUri.exec(uri)?.[1] ?? ""),
  credentials: z.optional(z.string()),
  responseTransferMode: z.optional(z.enum(["BUFFERED", "STREAM"])),
  timeoutInMillis: z.optional(z.int()),
});

/** A response that API Gateway makes by itself: the request's template gives its status. */
const mockIntegration = z.strictObject({
  type: z.literal("mock"),
  passthroughBehavior: z.literal("never"),
  requestTemplates: templates,
  responses: z.strictObject({
    default: z.strictObject({
      statusCode: status,
      responseParameters: z.optional(templates),
      responseTemplates: z.strictObject({ "application/json": z.string() }),
    }),
  }),
});

const operation = openApi({
  responses: z.record(z.string(), openApi({ headers: z.optional(z.record(z.string(), z.unknown())) })),
  "x-amazon-apigateway-integration": z.discriminatedUnion("type", [proxyIntegration, mockIntegration], {
    error: ({ input }) => `unknown integration type ${JSON.stringify((input as { type?: unknown } | undefined)?.type)}`,
  }),
});

const gatewayResponse = z.strictObject({
  statusCode: z.optional(status),
  responseParameters: z.optional(templates),
  responseTemplates: z.optional(z.strictObject({ "application/json": z.string() })),
});

const methods = z.enum(["get", "head", "post", "put", "patch", "delete", "options"]);

const documentSchema = openApi({
  openapi: z.string().regex(/^3\.0\./, "API Gateway imports version 3.0"),
  paths: z.record(
    z.string().regex(/^(\/|(\/([^/{}]+|\{[\w-]+\}))+)$/, "a path of plain segments and {parameters}"),
    z.partialRecord(methods, operation),
  ),
  "x-amazon-apigateway-gateway-responses": z.optional(z.record(z.string(), gatewayResponse)),
  "x-amazon-apigateway-minimum-compression-size": z.optional(z.int()),
  "x-amazon-apigateway-binary-media-types": z.optional(z.array(z.string())),
});

export type ProxyIntegration = z.infer<typeof proxyIntegration>;
export type MockIntegration = z.infer<typeof mockIntegration>;
export type Operation = z.infer<typeof operation>;
export type GatewayResponseDefinitions = Readonly<Record<string, z.infer<typeof gatewayResponse>>>;

/**
 * Reads the document of a REST API (API Gateway, "OpenAPI extensions for API Gateway").
 * @throws {Error} that says in one line what cannot be run, and where
 */
export function readDocument(document: unknown): z.infer<typeof documentSchema> {
  const { data, error } = documentSchema.safeParse(document);
  if (data) return data;
  const [issue] = error.issues;
  const { message } = (issue?.code === "invalid_key" ? issue.issues[0] : issue) ?? error;
  throw new Error(`${placeOf(issue?.path ?? [])}: ${message}`);
}

/** `["paths", "/x", "post", …]` as `POST /x`, and what lies deeper or elsewhere by its names. */
function placeOf([first, ...rest]: readonly PropertyKey[]): string {
  if (first !== "paths") return [first ?? "API document", ...rest].join(" ");
  const [path, method = "", ...deeper] = rest;
  const where = `${String(method).toUpperCase()} ${String(path)}`.trim();
  const field = deeper.filter((each) => each !== "x-amazon-apigateway-integration" && each !== "type").join(" ");
  return field === "" ? where : `${where}: ${field}`;
}
