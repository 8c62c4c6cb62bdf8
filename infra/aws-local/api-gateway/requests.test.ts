import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { echo, lambdaOf, restApi, served } from "../test/rest-api.ts";
import { send } from "../test/send.ts";
import { type ApiGateway, type PageHandler, startApiGateway } from "./server.ts";

/* What a function is asked, and which function is. */

const lambda = lambdaOf({ echo, other: echo, length: ({ body }) => ({ statusCode: 200, body: `${body?.length}` }) });
const echoed = ["GET /", "GET /things", "HEAD /things", "GET /things/random", "POST /echo", "GET /things/id/{id}"];
const others = ["GET /{kind}/random", "GET /{kind}/{id}/parts", "DELETE /things/id/{id}"];
const routes = {
  ...Object.fromEntries(echoed.map((route) => [route, served("echo")])),
  ...Object.fromEntries(others.map((route) => [route, served("other")])),
  "POST /things": served("length"),
  "GET /locked": { ...served("echo"), security: [{ key: [] }] },
};
const components = { securitySchemes: { key: { type: "apiKey", name: "x-api-key", in: "header" } } };
const document = { ...restApi(routes, { "binary-media-types": ["image/png"] }), components };
let gateway: ApiGateway;

beforeAll(async () => {
  gateway = await startApiGateway({ document, lambda, apiKeys: ["one", "two"] });
});

afterAll(() => gateway.close());

/** The event of a request. */
async function eventOf(path: string, sending: Parameters<typeof send>[2] = {}) {
  const { status, json } = await send(gateway.url, path, sending);
  expect(status).toBe(200);
  return json;
}

function sendRaw(lines: readonly string[]): Promise<string> {
  const { hostname, port } = new URL(gateway.url);
  const socket = connect(Number(port), hostname);
  socket.write(lines.join("\r\n"));
  return text(socket);
}

describe("A route", () => {
  it.each([
    { path: "/", resource: "/", pathParameters: null },
    { path: "/things/random/", resource: "/things/random", pathParameters: null },
    { path: "/others/random", resource: "/{kind}/random", pathParameters: { kind: "others" } },
    { path: "/things/random/parts", resource: "/{kind}/{id}/parts", pathParameters: { kind: "things", id: "random" } },
    { path: "/things/id/1/", resource: "/things/id/{id}", pathParameters: { id: "1" } },
    { path: "/things/id/a%2Fb", resource: "/things/id/{id}", pathParameters: { id: "a/b" } },
    { path: "/things/id/%2e%2e", resource: "/things/id/{id}", pathParameters: { id: ".." } },
    { path: "/things/id/..", resource: "/things/id/{id}", pathParameters: { id: ".." } },
    { path: "/things/id/a;b=c", resource: "/things/id/{id}", pathParameters: { id: "a;b=c" } },
    { path: "/things/id/a+b%20c", resource: "/things/id/{id}", pathParameters: { id: "a+b c" } },
    { path: "/things/id/%C3%A9%00", resource: "/things/id/{id}", pathParameters: { id: "é\0" } },
    { path: "/things/id/a%2526", resource: "/things/id/{id}", pathParameters: { id: "a%26" } },
  ])("of $path is $resource, with its parameters decoded once", async ({ path, resource, pathParameters }) => {
    const event = await eventOf(path);

    expect(event).toMatchObject({ path, resource, pathParameters, requestContext: { path, resourcePath: resource } });
  });

  it.each([
    ...["*", "/things//", "//things", "/Things", "/things;a=b", "/%74hings", "/things%2Frandom", "/./things"],
    ...["/x/../things", "/things/id", "/things/id/", "/things/id/1//", "/things/id/1/2", "/constructor"],
    ...["PUT /things", "OPTIONS /things", "PROPFIND /things"],
  ])("is compared to the letter, in all segments: %s is none", async (request) => {
    const [path = "", method = "GET"] = request.split(" ").reverse();

    expect(await send(gateway.url, path, { method })).toMatchObject({
      status: 403,
      json: { message: "Missing Authentication Token" },
      headers: { "content-type": "application/json" },
    });
  });

  it("leads each method to its own function, whatever other method a header names", async () => {
    const headers = { "X-HTTP-Method-Override": "GET" };

    expect(await eventOf("/things/id/1", { method: "DELETE", headers })).toMatchObject({ httpMethod: "DELETE" });
    expect(await send(gateway.url, "/things", { method: "HEAD" })).toMatchObject({ status: 200, text: "" });
  });
});

describe("The event of a request", () => {
  it("is that of a REST API's proxy integration", async () => {
    const { port } = new URL(gateway.url);
    const { headers: sent, json: event } = await send(gateway.url, "/things?a=1", {
      headers: { Host: `localhost:${port}`, "User-Agent": "test" },
    });

    const headers = { Host: `localhost:${port}`, "User-Agent": "test", "X-Forwarded-For": "127.0.0.1" };
    expect(event).toMatchObject({
      resource: "/things",
      path: "/things",
      httpMethod: "GET",
      headers,
      multiValueHeaders: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
      queryStringParameters: { a: "1" },
      multiValueQueryStringParameters: { a: ["1"] },
      pathParameters: null,
      stageVariables: null,
      requestContext: {
        httpMethod: "GET",
        identity: { sourceIp: "127.0.0.1", userAgent: "test", user: null },
        path: "/things",
        requestId: sent["x-amzn-requestid"],
        requestTime: expect.stringMatching(/^\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d \+0000$/),
        resourcePath: "/things",
        stage: "local",
      },
      body: null,
      isBase64Encoded: false,
    });
    expect(event.requestContext.requestId).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(Math.abs(event.requestContext.requestTimeEpoch - Date.now())).toBeLessThan(5_000);
  });

  it("has headers as sent, the last of each name and all, but for the connection's and the source's address", async () => {
    const own = ["X-CASE: Kept", "x-two: first", "x-two: last", "Cookie: a=1; b=2", "Cookie: c=3"];
    const others = ["Connection: close", "Transfer-Encoding: chunked", "x-forwarded-for: 192.0.2.1"];
    const response = await sendRaw(["GET /things HTTP/1.1", "Host: localhost", ...own, ...others, "", "0", "", ""]);

    const { headers, multiValueHeaders, requestContext } = JSON.parse(response.split("\r\n\r\n")[1] ?? "");
    const sent = { Host: ["localhost"], "X-CASE": ["Kept"], "x-two": ["first", "last"], Cookie: ["a=1; b=2", "c=3"] };
    const { port } = new URL(gateway.url);
    const forwarded = { "X-Forwarded-For": ["192.0.2.1, 127.0.0.1"], "X-Forwarded-Port": [port] };
    const all = { ...sent, ...forwarded, "X-Forwarded-Proto": ["http"] };
    expect(multiValueHeaders).toEqual(all);
    expect(headers).toEqual(Object.fromEntries(Object.entries(all).map(([name, values]) => [name, values.at(-1)])));
    expect(requestContext.identity.sourceIp).toBe("127.0.0.1");
  });

  it.each([
    { what: "no query", search: "", values: null },
    { what: "an empty query", search: "?", values: null },
    { what: "a name without a value", search: "?a", values: { a: [""] } },
    { what: "a name twice", search: "?a=1&a=2&b=3", values: { a: ["1", "2"], b: ["3"] } },
    { what: "semicolons", search: "?a=1;b=2", values: { a: ["1"], b: ["2"] } },
    { what: "a name twice, once without a value", search: "?a=1;a", values: { a: ["1", ""] } },
    { what: "an escaped name", search: "?%61=1&a=2&A=3", values: { a: ["1", "2"], A: ["3"] } },
    { what: "an equals sign in a value", search: "?a=1=2", values: { a: ["1=2"] } },
    { what: "escapes and plus signs", search: "?a=x+y%2Bz%20%26", values: { a: ["x y+z &"] } },
    { what: "other letters", search: "?%C3%A9=%E2%82%AC", values: { é: ["€"] } },
    { what: "a question mark in a value", search: "?a=1?b=2", values: { a: ["1?b=2"] } },
    { what: "a name of JavaScript", search: "?__proto__=1", values: JSON.parse('{"__proto__":["1"]}') },
  ])("has $what decoded", async ({ search, values }) => {
    const event = await eventOf(`/things${search}`);

    expect(event.multiValueQueryStringParameters).toEqual(values);
    const last =
      values && Object.fromEntries(Object.entries<string[]>(values).map(([name, all]) => [name, all.at(-1)]));
    expect(event.queryStringParameters).toEqual(last);
  });

  interface Body {
    readonly what: string;
    readonly sent: string | Buffer;
    readonly headers: Record<string, string>;
    readonly body: string | null;
    readonly isBase64Encoded: boolean;
  }

  it.each<Body>([
    { what: "text", sent: '{"a":"é"}', headers: {}, body: '{"a":"é"}', isBase64Encoded: false },
    {
      what: "replacement characters",
      sent: Buffer.from([0x61, 0xff, 0x62]),
      headers: { "Content-Type": "image/gif" },
      body: "a\u{FFFD}b",
      isBase64Encoded: false,
    },
    {
      what: "Base64 of a binary type",
      sent: Buffer.from([0xff]),
      headers: { "Content-Type": "Image/PNG; a=b" },
      body: "/w==",
      isBase64Encoded: true,
    },
    { what: "null if empty", sent: "", headers: { "Content-Type": "image/png" }, body: null, isBase64Encoded: false },
  ])("has as body: $what", async ({ sent, headers, body, isBase64Encoded }) => {
    const event = await eventOf("/echo", { method: "POST", body: sent, headers });

    expect(event).toMatchObject({ body, isBase64Encoded, httpMethod: "POST" });
  });
});

const post = (body: string | Buffer, headers = {}) => send(gateway.url, "/things", { method: "POST", body, headers });
const bodyBytesMax = 10 * 1_048_576;

describe("A request is refused", () => {
  it.each(["/things?a=%", "/things?%zz=1", "/things?a=%ff", "/things?a=b|c", "/things?a={}", "/things/id/%zz"])(
    "for its encoding: %s",
    async (path) => {
      expect(await send(gateway.url, path)).toMatchObject({ status: 400, json: { message: "Bad Request Exception" } });
    },
  );

  interface Refused {
    readonly what: string;
    readonly status: number;
    readonly message: string | undefined;
    readonly request: () => ReturnType<typeof send>;
  }

  it.each<Refused>([
    {
      what: "a body of more than 10 MB",
      status: 413,
      message: "Request Too Long",
      request: () => post(Buffer.alloc(bodyBytesMax + 1, "x")),
    },
    {
      what: "a compressed body",
      status: 415,
      message: "Unsupported Media Type",
      request: () => post(gzipSync("{}"), { "Content-Encoding": "gzip" }),
    },
    {
      what: "headers of more than 10,240 bytes",
      status: 400,
      message: "Bad Request",
      request: () => post("", { Cookie: "x".repeat(10_240) }),
    },
    {
      what: "another host",
      status: 403,
      message: undefined,
      request: () => send(gateway.url, "/things", { headers: { Host: "example.com" } }),
    },
  ])("with $status for $what", async ({ status, message, request }) => {
    expect(await request()).toMatchObject({ status, ...(message && { json: { message } }) });
  });

  it("for a body of more than 10 MB without Content-Length", async () => {
    const body = new Response(Buffer.alloc(bodyBytesMax + 1, "x")).body;

    expect((await fetch(`${gateway.url}/things`, { method: "POST", body, duplex: "half" })).status).toBe(413);
  });

  it("for what is not HTTP", async () => {
    expect(await sendRaw(["what is this?", "", ""])).toMatch(/^HTTP\/1\.1 400 .*\r\n\r\n\{"message":"Bad Request"\}$/s);
  });

  it("for none of these limits, and for no expectation", async () => {
    expect((await post(Buffer.alloc(bodyBytesMax, "x"))).text).toBe(`${bodyBytesMax}`);
    expect(await post("abc", { Cookie: "x".repeat(8_192), Expect: "something-else" })).toMatchObject({ text: "3" });
  });
});

/*
 * API Gateway, "Choose an API key source in API Gateway": a key that is in no usage plan of the stage is 403; a method that
 * needs none ignores it. "Test usage plans for REST APIs": so is a missing one.
 */
it("A method that needs an API key is called with a key of the plan, and with no other", async () => {
  const statusOf = async (path: string, headers = {}) => (await send(gateway.url, path, { headers })).status;

  for (const key of ["one", "two"]) expect(await statusOf("/locked", { "x-api-key": key })).toBe(200);
  for (const headers of [{ "x-api-key": "three" }, { "x-api-key": "" }, {}])
    expect(await statusOf("/locked", headers)).toBe(403);
  expect(await statusOf("/things", { "x-api-key": "three" })).toBe(200);
});

it("Other pages come before all routes, on both addresses of localhost, and the server closes while a client is connected", async () => {
  const page: PageHandler = ({ url }, response) => url === "/things" && Boolean(response.end("page"));
  const document = restApi({ "GET /things": served("echo") });
  const { url, close } = await startApiGateway({ lambda, document, pages: [() => false, page] });
  const { port } = new URL(url);
  for (const host of ["127.0.0.1", "[::1]", "localhost"])
    expect(await (await fetch(`http://${host}:${port}/things`)).text()).toBe("page");

  const socket = connect(Number(port), "127.0.0.1");
  await once(socket, "connect");
  await close();
  await once(socket, "close");
});
