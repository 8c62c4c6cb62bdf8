import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { echo, lambdaOf, restApi, served } from "../test/rest-api.ts";
import { send } from "../test/send.ts";
import { type ApiGateway, startApiGateway } from "./server.ts";

/* What a function is asked, and which function is. */

const lambda = lambdaOf({ echo, other: echo, length: ({ body }) => ({ statusCode: 200, body: `${body?.length}` }) });
let gateway: ApiGateway;

beforeAll(async () => {
  gateway = await startApiGateway({
    lambda,
    document: restApi(
      {
        "GET /": served("echo"),
        "GET /things": served("echo"),
        "HEAD /things": served("echo"),
        "POST /things": served("length"),
        "GET /things/random": served("echo"),
        "GET /{kind}/random": served("other"),
        "GET /{kind}/{id}/parts": served("other"),
        "POST /echo": served("echo"),
        "GET /things/id/{id}": served("echo"),
        "DELETE /things/id/{id}": served("other"),
      },
      { "binary-media-types": ["image/png"] },
    ),
  });
});

afterAll(() => gateway.close());

/** The event of a request. */
async function eventOf(path: string, sending: Parameters<typeof send>[2] = {}) {
  const { status, json } = await send(gateway.url, path, sending);
  expect(status).toBe(200);
  return json;
}

describe("A route", () => {
  it.each([
    ["/", "/", null],
    ["/things/random", "/things/random", null],
    ["/things/random/", "/things/random", null],
    ["/others/random", "/{kind}/random", { kind: "others" }],
    ["/things/random/parts", "/{kind}/{id}/parts", { kind: "things", id: "random" }],
    ["/things/id/1", "/things/id/{id}", { id: "1" }],
    ["/things/id/1/", "/things/id/{id}", { id: "1" }],
    ["/things/id/a%2Fb", "/things/id/{id}", { id: "a/b" }],
    ["/things/id/%2e%2e", "/things/id/{id}", { id: ".." }],
    ["/things/id/..", "/things/id/{id}", { id: ".." }],
    ["/things/id/a;b=c", "/things/id/{id}", { id: "a;b=c" }],
    ["/things/id/a+b%20c", "/things/id/{id}", { id: "a+b c" }],
    ["/things/id/%C3%A9%00", "/things/id/{id}", { id: "é\0" }],
    ["/things/id/a%2526", "/things/id/{id}", { id: "a%26" }],
  ])("of %s is %s, with its parameters decoded once", async (path, resource, pathParameters) => {
    const event = await eventOf(path);

    expect(event).toMatchObject({ path, resource, pathParameters, requestContext: { path, resourcePath: resource } });
  });

  it.each(["*", "/things//", "//things", "/Things", "/things;a=b", "/%74hings", "/things%2Frandom", "/./things"])(
    "is compared to the letter: %s is none",
    async (path) => {
      expect(await send(gateway.url, path)).toMatchObject({
        status: 403,
        json: { message: "Missing Authentication Token" },
        headers: { "content-type": "application/json" },
      });
    },
  );

  it.each([
    "/x/../things",
    "/things/id",
    "/things/id/",
    "/things/id//",
    "/things/id/1//",
    "/things/id/1/2",
    "/constructor",
  ])("needs every segment: %s is none", async (path) => {
    expect((await send(gateway.url, path)).status).toBe(403);
  });

  it.each(["PUT", "PATCH", "OPTIONS", "PROPFIND"])("has the methods of the document: not %s", async (method) => {
    expect((await send(gateway.url, "/things", { method })).status).toBe(403);
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

    const headers = {
      Host: `localhost:${port}`,
      "User-Agent": "test",
      "X-Forwarded-For": "127.0.0.1",
      "X-Forwarded-Port": port,
      "X-Forwarded-Proto": "http",
    };
    const identity = {
      ...Object.fromEntries(
        [
          ...["accessKey", "accountId", "apiKey", "apiKeyId", "caller", "clientCert", "cognitoAuthenticationProvider"],
          ...["cognitoAuthenticationType", "cognitoIdentityId", "cognitoIdentityPoolId", "principalOrgId", "user"],
          "userArn",
        ].map((name) => [name, null]),
      ),
      sourceIp: "127.0.0.1",
      userAgent: "test",
    };
    expect(event).toEqual({
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
        accountId: "123456789012",
        apiId: "local",
        authorizer: null,
        domainName: `localhost:${port}`,
        extendedRequestId: expect.any(String),
        httpMethod: "GET",
        identity,
        path: "/things",
        protocol: "HTTP/1.1",
        requestId: sent["x-amzn-requestid"],
        requestTime: expect.stringMatching(/^\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d \+0000$/),
        requestTimeEpoch: expect.any(Number),
        resourceId: "local",
        resourcePath: "/things",
        stage: "local",
      },
      body: null,
      isBase64Encoded: false,
    });
    expect(event.requestContext.requestId).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(Math.abs(event.requestContext.requestTimeEpoch - Date.now())).toBeLessThan(5_000);
  });

  it("has headers as they were sent, but for those of the connection: the last of each name, and all", async () => {
    const { headers, multiValueHeaders } = await eventOf("/things", {
      headers: { cookie: "a=1", "X-CASE": "Kept", "x-two": ["first", "last"], "Transfer-Encoding": "chunked" },
    });

    expect(headers).toMatchObject({ cookie: "a=1", "X-CASE": "Kept", "x-two": "last" });
    expect(multiValueHeaders).toMatchObject({ cookie: ["a=1"], "X-CASE": ["Kept"], "x-two": ["first", "last"] });
    const names = Object.keys(headers).map((name) => name.toLowerCase());
    for (const name of ["transfer-encoding", "connection"]) expect(names).not.toContain(name);
  });

  it.each([[["Cookie: a=1; b=2"]], [["Cookie: a=1", "Cookie: b=2"]]])("has the cookies %j as sent", async (lines) => {
    const { hostname, port } = new URL(gateway.url);
    const socket = connect(Number(port), hostname);
    socket.write(["GET /things HTTP/1.1", "Host: localhost", "Connection: close", ...lines, "", ""].join("\r\n"));

    const { headers, multiValueHeaders } = JSON.parse((await text(socket)).split("\r\n\r\n")[1] ?? "");

    const values = lines.map((line) => line.replace("Cookie: ", ""));
    expect([headers.Cookie, multiValueHeaders.Cookie]).toEqual([values.at(-1), values]);
  });

  it("has the socket's address as source, whatever X-Forwarded-For says", async () => {
    const { headers, requestContext } = await eventOf("/things", {
      headers: { "x-forwarded-for": "192.0.2.1", "X-Forwarded-Proto": "https" },
    });

    expect(headers).toMatchObject({ "X-Forwarded-For": "192.0.2.1, 127.0.0.1", "X-Forwarded-Proto": "http" });
    expect(headers).not.toHaveProperty("x-forwarded-for");
    expect(requestContext.identity.sourceIp).toBe("127.0.0.1");
  });

  it.each([
    ["", null, null],
    ["?", null, null],
    ["?a", { a: "" }, { a: [""] }],
    ["?a=1&a=2&b=3", { a: "2", b: "3" }, { a: ["1", "2"], b: ["3"] }],
    ["?a=1;b=2", { a: "1", b: "2" }, { a: ["1"], b: ["2"] }],
    ["?a=1;a", { a: "" }, { a: ["1", ""] }],
    ["?%61=1&a=2&A=3", { a: "2", A: "3" }, { a: ["1", "2"], A: ["3"] }],
    ["?a=1=2", { a: "1=2" }, { a: ["1=2"] }],
    ["?a=x+y%2Bz%20%26", { a: "x y+z &" }, { a: ["x y+z &"] }],
    ["?%C3%A9=%E2%82%AC", { é: "€" }, { é: ["€"] }],
    ["?a=1?b=2", { a: "1?b=2" }, { a: ["1?b=2"] }],
    ["?__proto__=1", JSON.parse('{"__proto__":"1"}'), JSON.parse('{"__proto__":["1"]}')],
  ])("has the query %j decoded", async (search, single, multiple) => {
    const event = await eventOf(`/things${search}`);

    expect(event.queryStringParameters).toEqual(single);
    expect(event.multiValueQueryStringParameters).toEqual(multiple);
  });

  it.each<[string, string | Buffer, Record<string, string>, string | null, boolean]>([
    ["text", '{"a":"é"}', {}, '{"a":"é"}', false],
    ["replacement characters", Buffer.from([0x61, 0xff, 0x62]), { "Content-Type": "image/gif" }, "a\u{FFFD}b", false],
    ["Base64 of a binary type", Buffer.from([0xff]), { "Content-Type": "Image/PNG; a=b" }, "/w==", true],
    ["null if empty", "", { "Content-Type": "image/png" }, null, false],
  ])("has as body: %s", async (_, sent, headers, body, isBase64Encoded) => {
    const event = await eventOf("/echo", { method: "POST", body: sent, headers });

    expect(event).toMatchObject({ body, isBase64Encoded, httpMethod: "POST" });
  });
});

const post = (body: string | Buffer, headers = {}) => send(gateway.url, "/things", { method: "POST", body, headers });
const megabyte = 1_048_576;

it("A request is answered whatever it expects", async () => {
  expect(await post("abc", { Expect: "something-else" })).toMatchObject({ status: 200, text: "3" });
});

describe("A request is refused", () => {
  it.each(["/things?a=%", "/things?%zz=1", "/things?a=%ff", "/things?a=b|c", "/things?a={}", "/things/id/%zz"])(
    "with 400 if it is not properly encoded: %s",
    async (path) => {
      expect(await send(gateway.url, path)).toMatchObject({ status: 400, json: { message: "Bad Request Exception" } });
    },
  );

  it("with 413 if its body has more than 10 MB, also without Content-Length", async () => {
    const [allowed, larger] = [Buffer.alloc(10 * megabyte, "x"), Buffer.alloc(10 * megabyte + 1, "x")];

    expect((await post(allowed)).text).toBe(`${10 * megabyte}`);
    const tooLarge = { status: 413, json: { message: "Request Too Long" } };
    expect(await post(larger)).toMatchObject(tooLarge);
    const body = new Response(larger).body;
    expect((await fetch(`${gateway.url}/things`, { method: "POST", body, duplex: "half" })).status).toBe(413);
  });

  it("with 415 if its body is compressed", async () => {
    expect(await post(gzipSync("{}"), { "Content-Encoding": "gzip" })).toMatchObject({
      status: 415,
      json: { message: "Unsupported Media Type" },
    });
  });

  it("with 400 if its headers have more than 10,240 bytes", async () => {
    expect((await post("", { Cookie: "x".repeat(8_192) })).status).toBe(200);
    expect(await post("", { Cookie: "x".repeat(10_240) })).toMatchObject({
      status: 400,
      json: { message: "Bad Request" },
    });
  });

  it("with 400 if it is not HTTP", async () => {
    const { hostname, port } = new URL(gateway.url);
    const socket = connect(Number(port), hostname);
    socket.end("what is this?\r\n\r\n");

    expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 .*\r\n\r\n\{"message":"Bad Request"\}$/s);
  });

  it("with 403 if it names another host", async () => {
    expect((await send(gateway.url, "/things", { headers: { Host: "example.com" } })).status).toBe(403);
  });
});
