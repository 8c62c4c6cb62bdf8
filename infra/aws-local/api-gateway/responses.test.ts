import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { RequestTooLarge, TooManyRequests } from "../lambda/refusals.ts";
import { lambdaOf, type Operation, obey, restApi, served } from "../test/rest-api.ts";
import { send } from "../test/send.ts";
import { type ApiGateway, startApiGateway } from "./server.ts";

/* What clients get: a function's result, a mock's response, or one of the gateway's own. */

const lambda = lambdaOf({
  obey,
  fail: () => ({ errorType: "Error", errorMessage: "secret" }),
  broken: () => ({ errorType: "BuildFailure", errorMessage: "x.ts:1: unexpected }" }),
  throttled: () => Promise.reject(new TooManyRequests()),
  "too-large": () => Promise.reject(new RequestTooLarge("Request must be smaller")),
  hang: () => new Promise(() => {}),
});

const panel = "https://panel.example.com";
const mock = (response: object) => ({
  responses: { 207: { headers: { "X-Fixed": {} } } },
  "x-amazon-apigateway-integration": {
    type: "mock",
    passthroughBehavior: "never",
    requestTemplates: { "application/json": '{"statusCode":207}', "text/plain": '{"statusCode":208}' },
    responses: { default: { statusCode: "207", responseTemplates: { "application/json": "" }, ...response } },
  },
});
const template = [
  '#set($origin = $input.params().header.get("Origin"))',
  `#if($origin == "${panel}" || $origin == "https://other.example.com")`,
  '#set($context.responseOverride.header.X-Allowed = "$origin")',
  "#end",
  '$context.httpMethod $input.params().path.get("id") $input.params().querystring.get("a")',
].join("\n");

const document = restApi(
  {
    "POST /obey": served("obey"),
    "GET /fail": served("fail"),
    "GET /broken": served("broken"),
    "GET /throttled": served("throttled"),
    "GET /too-large": served("too-large"),
    "GET /hang": served("hang", { timeoutInMillis: 30 }),
    "GET /hang-streaming": served("hang", { timeoutInMillis: 30, responseTransferMode: "STREAM" }),
    "GET /hang-longer": served("hang"),
    "PUT /mock/{id}": mock({
      responseParameters: { "method.response.header.X-Fixed": "'always'" },
      responseTemplates: { "application/json": template },
    }),
  },
  {
    "minimum-compression-size": 1_024,
    "binary-media-types": ["image/png"],
    "gateway-responses": {
      DEFAULT_4XX: {
        statusCode: "418",
        responseParameters: {
          "gatewayresponse.header.X-Constant": "'one'",
          "gatewayresponse.header.X-Origin": "method.request.header.origin",
        },
        responseTemplates: { "application/json": '{"$context.error.responseType":$context.error.messageString$none}' },
      },
      INTEGRATION_FAILURE: { statusCode: "503" },
    },
  },
);

let gateway: ApiGateway;

beforeAll(async () => {
  gateway = await startApiGateway({ lambda, document });
});

afterAll(() => gateway.close());

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
});

/** Lets a function give this result. */
const give = (result: unknown, headers = {}) =>
  send(gateway.url, "/obey", { method: "POST", body: JSON.stringify(result), headers });

describe("A function's result", () => {
  it("becomes the response", async () => {
    const { status, headers, text } = await give({
      statusCode: 201,
      headers: { "X-One": "1", "X-Number": 2, "X-Flag": true, "X-Both": "left out", "Content-Length": "1", Date: "x" },
      multiValueHeaders: { "Set-Cookie": ["a=1", "b=2"], "x-both": ["kept"] },
      body: "text",
    });

    expect({ status, text }).toEqual({ status: 201, text: "text" });
    expect(headers).toMatchObject({ "x-one": "1", "x-number": "2", "x-flag": "true", "x-both": "kept" });
    expect(headers).toMatchObject({ "set-cookie": ["a=1", "b=2"], "content-type": "application/json" });
    expect(headers).toMatchObject({ "x-amzn-remapped-content-length": "1", "x-amzn-remapped-date": "x" });
  });

  it.each([
    { what: "a status alone", result: { statusCode: 204 }, status: 204 },
    { what: "a status as text", result: { statusCode: "200" }, status: 200 },
    { what: "a 304", result: { statusCode: 304, body: "", headers: { ETag: '"a"' } }, status: 304 },
    { what: "null for body and headers", result: { statusCode: 200, body: null, headers: null }, status: 200 },
  ])("with $what has an empty body", async ({ result, status }) => {
    expect(await give(result)).toMatchObject({ status, text: "" });
  });

  const encoded = { statusCode: 200, body: "aGk=", isBase64Encoded: true };

  it("is decoded from Base64 if the first accepted type is binary", async () => {
    expect(await give(encoded, { Accept: "image/png;q=1, */*" })).toMatchObject({ text: "hi" });
  });

  it.each([
    { what: "it is not said to be Base64", result: { ...encoded, isBase64Encoded: false }, accepted: "image/png" },
    { what: "the first accepted type is text", result: encoded, accepted: "text/html, image/png" },
    { what: "no type is accepted", result: encoded, accepted: undefined },
  ])("stays as it is if $what", async ({ result, accepted }) => {
    expect(await give(result, accepted ? { Accept: accepted } : {})).toMatchObject({ text: "aGk=" });
  });

  it.each([
    { what: "null", result: null },
    { what: "text", result: "text" },
    { what: "an array", result: [] },
    { what: "an empty object", result: {} },
    { what: "an object without a status", result: { body: "no status" } },
    { what: "a status in words", result: { statusCode: "two hundred" } },
    { what: "half a status", result: { statusCode: 200.5 } },
    { what: "a status below 200", result: { statusCode: 101 } },
    { what: "a status above 599", result: { statusCode: 600 } },
    { what: "an object as body", result: { statusCode: 200, body: { an: "object" } } },
    { what: "an array of headers", result: { statusCode: 200, headers: ["a"] } },
    { what: "an object as a header's value", result: { statusCode: 200, headers: { a: { b: 1 } } } },
    { what: "a line break in a header", result: { statusCode: 200, headers: { "X-Left": "out", a: "line\nbreak" } } },
    { what: "a space in a header's name", result: { statusCode: 200, headers: { "no name": "" } } },
    { what: "text as the values of a header", result: { statusCode: 200, multiValueHeaders: { a: "b" } } },
    { what: "a word for true", result: { statusCode: 200, isBase64Encoded: "yes" } },
    { what: "an unknown member", result: { statusCode: 200, more: 1 } },
  ])("is refused by 502 if it is $what", async ({ result }) => {
    const { status, json, headers } = await give(result);

    expect({ status, json }).toEqual({ status: 502, json: { message: "Internal server error" } });
    expect(headers).not.toHaveProperty("x-left");
  });
});

const large = { statusCode: 200, body: "x".repeat(1_024) };

it.each(["gzip", "deflate, gzip;q=0.5"])("A large result is compressed for %s", async (accepted) => {
  const { headers, text } = await give(large, { "Accept-Encoding": accepted });

  expect(headers["content-encoding"]).toBe("gzip");
  expect(text).toBe(large.body);
});

it.each([
  { what: "a client that accepts no compression", accepted: "identity", result: large },
  { what: "a client that refuses gzip", accepted: "gzip;q=0", result: large },
  { what: "less than a kilobyte", accepted: "gzip", result: { statusCode: 200, body: "x".repeat(1_023) } },
  {
    what: "what is encoded",
    accepted: "gzip",
    result: { ...large, headers: { "content-encoding": "identity" } },
  },
])("Nothing is compressed for $what", async ({ accepted, result }) => {
  const { headers, text } = await give(result, { "Accept-Encoding": accepted });

  expect(headers["content-encoding"]).not.toBe("gzip");
  expect(text).toBe(result.body);
});

describe("A mock", () => {
  const put = (headers: Record<string, string>) =>
    send(gateway.url, "/mock/7?a=1", { method: "PUT", body: "{}", headers });

  it("responds by its templates", async () => {
    const { status, text, headers } = await put({ Origin: panel, "Content-Type": "Application/JSON; charset=utf-8" });

    expect({ status, text }).toEqual({ status: 207, text: "PUT 7 1" });
    expect(headers).toMatchObject({ "x-fixed": "always", "x-allowed": panel, "content-type": "application/json" });
    expect((await put({ Origin: "null" })).headers).not.toHaveProperty("x-allowed");
  });

  it("returns the gateway response of a type without a template", async () => {
    expect(await put({ "Content-Type": "text/html" })).toMatchObject({
      status: 418,
      text: '{"UNSUPPORTED_MEDIA_TYPE":"Unsupported Media Type"$none}',
    });
  });

  it("returns 502 if its status has no response", async () => {
    expect((await put({ "Content-Type": "text/plain" })).status).toBe(502);
  });
});

describe("A gateway response", () => {
  it("is that of the default, with the request's headers, where its type is not defined", async () => {
    const { status, text, headers } = await send(gateway.url, "/nowhere", { headers: { Origin: panel } });

    expect({ status, text }).toEqual({
      status: 418,
      text: '{"MISSING_AUTHENTICATION_TOKEN":"Missing Authentication Token"$none}',
    });
    expect(headers).toMatchObject({ "x-constant": "one", "x-origin": panel, "content-type": "application/json" });
    expect((await send(gateway.url, "/nowhere")).headers).not.toHaveProperty("x-origin");
  });

  it.each([
    { path: "/fail", status: 503, message: "Internal server error" },
    { path: "/throttled", status: 503, message: "Internal server error" },
    { path: "/hang", status: 504, message: "Endpoint request timed out" },
    { path: "/hang-streaming", status: 504, message: "Endpoint request timed out" },
    // Only a developer sees a function that does not build.
    { path: "/broken", status: 500, message: "x.ts:1: unexpected }" },
  ])("to $path is $status", async ({ path, status, message }) => {
    expect(await send(gateway.url, path)).toMatchObject({ status, json: { message } });
  });

  it("is that of a request which is too large where Lambda does not take it", async () => {
    expect((await send(gateway.url, "/too-large")).text).toMatch("REQUEST_TOO_LARGE");
  });

  it("comes after 29 s where the document names no time", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const answered = send(gateway.url, "/hang-longer");
    await vi.waitFor(() => expect(vi.getTimerCount()).toBeGreaterThanOrEqual(1));

    await vi.advanceTimersByTimeAsync(28_900);
    expect(await Promise.race([answered, "waiting"])).toBe("waiting");
    await vi.advanceTimersByTimeAsync(1_000);

    vi.useRealTimers();
    expect((await answered).status).toBe(504);
  });
});

const templated = (text: string) => get(mock({ responseTemplates: { "application/json": text } }));
const withHeaders = (responseParameters: object) => get(mock({ responseParameters }));
const get = (operation: Operation) => restApi({ "GET /x": operation });
const gets = (more: Operation) => get(served("obey", more));
const withResponses = (definition: object) => restApi({}, { "gateway-responses": { DEFAULT_4XX: definition } });

const body = "GET /x: responses default responseTemplates application/json";
const definition = "x-amazon-apigateway-gateway-responses DEFAULT_4XX";

it.each([
  { message: "API document: Invalid input: expected object, received null", document: null },
  { message: "openapi: API Gateway imports version 3.0", document: { openapi: "3.1.0", paths: {} } },
  {
    message: 'POST /x: unknown integration type "vpc"',
    document: restApi({ "POST /x": served("obey", { type: "vpc" }) }),
  },
  { message: "GET /x: there is no function absent", document: get(served("absent")) },
  { message: "GET /x: uri: not the URI of a Lambda function", document: gets({ uri: "https://x" }) },
  { message: "GET /x: httpMethod: Lambda functions are invoked by POST", document: gets({ httpMethod: "GET" }) },
  { message: "GET /x: there is no security scheme key", document: get({ ...served("obey"), security: [{ key: [] }] }) },
  { message: 'GET /x: Unrecognized key: "requestParameters"', document: gets({ requestParameters: {} }) },
  {
    message: "/x/{y+}: not a path of plain segments and {parameters}",
    document: restApi({ "GET /x/{y+}": served("obey") }),
  },
  { message: "API document: x-amazon-apigateway-policy is not supported", document: restApi({}, { policy: {} }) },
  { message: `${body}: no Velocity template: Error: Parse error on line 1:`, document: templated("#if(") },
  { message: `${body}: templates have no $util`, document: templated("$util.escapeJavaScript('a')") },
  {
    message: "GET /x: responses default responseParameters method.response.header.A: not a 'constant'",
    document: withHeaders({ "method.response.header.A": "integration.response.header.B" }),
  },
  {
    message: "GET /x: the operation does not declare the header A",
    document: withHeaders({ "method.response.header.A": "'a'" }),
  },
  { message: `${definition} statusCode: not a status such as 204`, document: withResponses({ statusCode: "4" }) },
])("A document that cannot be run is refused at the start, and says where: $message", async ({ message, document }) => {
  const refused = startApiGateway({ document, lambda });

  await expect(refused).rejects.toThrow(message);
  await expect(refused).rejects.toThrow(/^.+$/);
});
