import { describe, expect, it } from "vitest";
import { lambdaOf, restApi, served } from "../test/rest-api.ts";
import { startApiGateway } from "./server.ts";

const lambda = lambdaOf({ known: () => undefined });
const mock = (more: object) => ({
  responses: { 204: {} },
  "x-amazon-apigateway-integration": {
    type: "mock",
    passthroughBehavior: "never",
    requestTemplates: { "application/json": '{"statusCode":204}' },
    responses: { default: { statusCode: "204", responseTemplates: { "application/json": "" }, ...more } },
  },
});
const template = (text: string) => mock({ responseTemplates: { "application/json": text } });
const responses = (definition: object) => restApi({}, { "gateway-responses": { DEFAULT_4XX: definition } });

const body = "GET /x: responses default responseTemplates application/json";
const definition = "x-amazon-apigateway-gateway-responses DEFAULT_4XX";

describe("A document that cannot be run is refused at the start, and says where:", () => {
  it.each([
    ["API document: Invalid input: expected object, received null", null],
    ["openapi: API Gateway imports version 3.0", { openapi: "3.1.0", paths: {} }],
    ['POST /x: unknown integration type "vpc"', restApi({ "POST /x": served("known", { type: "vpc" }) })],
    ["GET /x: unknown integration type undefined", restApi({ "GET /x": { responses: {} } })],
    ["GET /x: there is no function absent", restApi({ "GET /x": served("absent") })],
    ["GET /x: uri: not the URI of a Lambda function", restApi({ "GET /x": served("known", { uri: "https://x" }) })],
    [
      "GET /x: httpMethod: Lambda functions are invoked by POST",
      restApi({ "GET /x": served("known", { httpMethod: "GET" }) }),
    ],
    ["GET /x: there is no security scheme key", restApi({ "GET /x": { ...served("known"), security: [{ key: [] }] } })],
    [
      'components securitySchemes key type: Invalid input: expected "apiKey"',
      { ...restApi({}), components: { securitySchemes: { key: { type: "http", name: "x-api-key", in: "header" } } } },
    ],
    [
      'GET /x: Unrecognized key: "requestParameters"',
      restApi({ "GET /x": served("known", { requestParameters: {} }) }),
    ],
    ['/x: Unrecognized key: "trace"', restApi({ "TRACE /x": served("known") })],
    ["/x/{y+}: not a path of plain segments and {parameters}", restApi({ "GET /x/{y+}": served("known") })],
    ["API document: x-amazon-apigateway-policy is not supported", restApi({}, { policy: {} })],
    [`${body}: no Velocity template: Error: Parse error on line 1:`, restApi({ "GET /x": template("#if(") })],
    [`${body}: templates have no $util`, restApi({ "GET /x": template("$util.escapeJavaScript('a')") })],
    [`${body}: templates have no $input.body`, restApi({ "GET /x": template("$input.body") })],
    [
      "GET /x: responses default responseParameters method.response.header.A: not a 'constant'",
      restApi({
        "GET /x": mock({ responseParameters: { "method.response.header.A": "integration.response.header.B" } }),
      }),
    ],
    [
      "GET /x: the operation does not declare the header A",
      restApi({ "GET /x": mock({ responseParameters: { "method.response.header.A": "'a'" } }) }),
    ],
    [
      `${definition} responseParameters header.A: Invalid string: must start with "gatewayresponse.header."`,
      responses({ responseParameters: { "header.A": "'a'" } }),
    ],
    [`${definition} statusCode: not a status such as 204`, responses({ statusCode: "4" })],
  ])("%s", async (message, document) => {
    const refused = startApiGateway({ document, lambda });

    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.toThrow(/^.+$/);
  });
});
