import { describe, expect, it } from "vitest";
import { lambdaOf, type Operation, restApi, served } from "../test/rest-api.ts";
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
const template = (text: string) => get(mock({ responseTemplates: { "application/json": text } }));
const headers = (responseParameters: object) => get(mock({ responseParameters }));
const get = (operation: Operation) => restApi({ "GET /x": operation });
const gets = (more: Operation) => get(served("known", more));
const responses = (definition: object) => restApi({}, { "gateway-responses": { DEFAULT_4XX: definition } });

const body = "GET /x: responses default responseTemplates application/json";
const definition = "x-amazon-apigateway-gateway-responses DEFAULT_4XX";

describe("A document that cannot be run is refused at the start, and says where:", () => {
  it.each([
    ["API document: Invalid input: expected object, received null", null],
    ["openapi: API Gateway imports version 3.0", { openapi: "3.1.0", paths: {} }],
    ['POST /x: unknown integration type "vpc"', restApi({ "POST /x": served("known", { type: "vpc" }) })],
    ["GET /x: unknown integration type undefined", get({ responses: {} })],
    ["GET /x: there is no function absent", get(served("absent"))],
    ["GET /x: uri: not the URI of a Lambda function", gets({ uri: "https://x" })],
    ["GET /x: httpMethod: Lambda functions are invoked by POST", gets({ httpMethod: "GET" })],
    ["GET /x: there is no security scheme key", get({ ...served("known"), security: [{ key: [] }] })],
    [
      'components securitySchemes key type: Invalid input: expected "apiKey"',
      { ...restApi({}), components: { securitySchemes: { key: { type: "http", name: "x-api-key", in: "header" } } } },
    ],
    ['GET /x: Unrecognized key: "requestParameters"', gets({ requestParameters: {} })],
    ['/x: Unrecognized key: "trace"', restApi({ "TRACE /x": served("known") })],
    ["/x/{y+}: not a path of plain segments and {parameters}", restApi({ "GET /x/{y+}": served("known") })],
    ["API document: x-amazon-apigateway-policy is not supported", restApi({}, { policy: {} })],
    [`${body}: no Velocity template: Error: Parse error on line 1:`, template("#if(")],
    [`${body}: templates have no $util`, template("$util.escapeJavaScript('a')")],
    [`${body}: templates have no $input.body`, template("$input.body")],
    [
      "GET /x: responses default responseParameters method.response.header.A: not a 'constant'",
      headers({ "method.response.header.A": "integration.response.header.B" }),
    ],
    ["GET /x: the operation does not declare the header A", headers({ "method.response.header.A": "'a'" })],
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
