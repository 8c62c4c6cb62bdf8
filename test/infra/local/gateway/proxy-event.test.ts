import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { deflateSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Gateway, startGateway } from "../../../../infra/aws-local/api-gateway/server.ts";
import { startLambda } from "../../../../infra/aws-local/lambda/lambda.ts";
import { echo, endpoints, send, writeFunctions } from "../fixtures.ts";

let built: Awaited<ReturnType<typeof writeFunctions>>;
let gateway: Gateway;

beforeAll(async () => {
  built = await writeFunctions({ "things/list": echo, "things/random": echo, "things/add": echo });
  const lambda = await startLambda(built);
  // The fixtures' functions answer in one piece.
  const buffered = endpoints.map((each) => ({ ...each, answers: { message: "" } }));
  gateway = await startGateway({ lambda, endpoints: buffered, allowedOrigins: [], uploads: false });
});

afterAll(async () => {
  await gateway.close();
  await built.remove();
});

/** The event of a request. */
async function eventOf(path: string, sending: Parameters<typeof send>[2] = {}) {
  const { status, json } = await send(gateway.url, path, sending);
  expect(status).toBe(200);
  return json;
}

describe("the event of a request", () => {
  it("is that of a REST API's proxy integration", async () => {
    const port = new URL(gateway.url).port;

    const event = await eventOf("/things?a=1", { headers: { Host: `localhost:${port}`, "User-Agent": "test" } });

    expect(event).toEqual({
      resource: "/things",
      path: "/things",
      httpMethod: "GET",
      headers: {
        Host: `localhost:${port}`,
        "User-Agent": "test",
        "X-Forwarded-For": "127.0.0.1",
        "X-Forwarded-Port": port,
        "X-Forwarded-Proto": "http",
      },
      multiValueHeaders: {
        Host: [`localhost:${port}`],
        "User-Agent": ["test"],
        "X-Forwarded-For": ["127.0.0.1"],
        "X-Forwarded-Port": [port],
        "X-Forwarded-Proto": ["http"],
      },
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
        identity: {
          accessKey: null,
          accountId: null,
          apiKey: null,
          apiKeyId: null,
          caller: null,
          clientCert: null,
          cognitoAuthenticationProvider: null,
          cognitoAuthenticationType: null,
          cognitoIdentityId: null,
          cognitoIdentityPoolId: null,
          principalOrgId: null,
          sourceIp: "127.0.0.1",
          user: null,
          userAgent: "test",
          userArn: null,
        },
        path: "/things",
        protocol: "HTTP/1.1",
        requestId: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
        requestTime: expect.stringMatching(/^\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d \+0000$/),
        requestTimeEpoch: expect.any(Number),
        resourceId: "local",
        resourcePath: "/things",
        stage: "local",
      },
      body: null,
      isBase64Encoded: false,
    });
    expect(Math.abs(event.requestContext.requestTimeEpoch - Date.now())).toBeLessThan(5_000);
  });

  it("has the same request id as the answer", async () => {
    const { headers, json } = await send(gateway.url, "/things");

    expect(headers["x-amzn-requestid"]).toBe(json.requestContext.requestId);
  });

  it("has headers as they were sent, the last of each name and all of them", async () => {
    const { headers, multiValueHeaders } = await eventOf("/things", {
      headers: { cookie: "a=1", "X-CASE": "Kept", "x-two": ["first", "last"], "Transfer-Encoding": "chunked" },
    });

    expect(headers).toMatchObject({ cookie: "a=1", "X-CASE": "Kept", "x-two": "last" });
    expect(multiValueHeaders).toMatchObject({ cookie: ["a=1"], "X-CASE": ["Kept"], "x-two": ["first", "last"] });
    expect(Object.keys(headers).map((name) => name.toLowerCase())).not.toContain("transfer-encoding");
    expect(Object.keys(headers).map((name) => name.toLowerCase())).not.toContain("connection");
  });

  it("has cookies as they were sent, in one header or in several", async () => {
    const { hostname, port } = new URL(gateway.url);
    const cookiesOf = async (...lines: string[]) => {
      const socket = connect(Number(port), hostname);
      socket.write(["GET /things HTTP/1.1", "Host: localhost", "Connection: close", ...lines, "", ""].join("\r\n"));
      const { headers, multiValueHeaders } = JSON.parse((await text(socket)).split("\r\n\r\n")[1] ?? "");
      return [headers.Cookie, multiValueHeaders.Cookie];
    };

    expect(await cookiesOf("Cookie: a=1; b=2")).toEqual(["a=1; b=2", ["a=1; b=2"]]);
    expect(await cookiesOf("Cookie: a=1", "Cookie: b=2")).toEqual(["b=2", ["a=1", "b=2"]]);
  });

  it("has the socket's address as source, whatever X-Forwarded-For says", async () => {
    const { headers, requestContext } = await eventOf("/things", {
      headers: { "x-forwarded-for": "192.0.2.1", "X-Forwarded-Proto": "https" },
    });

    expect(headers["X-Forwarded-For"]).toBe("192.0.2.1, 127.0.0.1");
    expect(headers).not.toHaveProperty("x-forwarded-for");
    expect(headers["X-Forwarded-Proto"]).toBe("http");
    expect(requestContext.identity.sourceIp).toBe("127.0.0.1");
  });

  it.each([
    ["", null, null],
    ["?", null, null],
    ["?a", { a: "" }, { a: [""] }],
    ["?a=", { a: "" }, { a: [""] }],
    ["?a=1&a=2&b=3", { a: "2", b: "3" }, { a: ["1", "2"], b: ["3"] }],
    ["?a=1;b=2", { a: "1", b: "2" }, { a: ["1"], b: ["2"] }],
    ["?a=1&a", { a: "" }, { a: ["1", ""] }],
    ["?a=1;a=2", { a: "2" }, { a: ["1", "2"] }],
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

  it("has a text body", async () => {
    const { body, isBase64Encoded, httpMethod } = await eventOf("/things/add", { method: "POST", body: '{"a":"é"}' });

    expect({ body, isBase64Encoded, httpMethod }).toEqual({
      body: '{"a":"é"}',
      isBase64Encoded: false,
      httpMethod: "POST",
    });
  });

  it("has replacement characters where the body is not UTF-8", async () => {
    const body = Buffer.from([0x61, 0xff, 0x62]);

    expect(
      await eventOf("/things/add", { method: "POST", body, headers: { "Content-Type": "image/png" } }),
    ).toMatchObject({
      body: "a\u{FFFD}b",
      isBase64Encoded: false,
    });
  });

  it("has a null body if the request has none or an empty one", async () => {
    expect((await eventOf("/things/add", { method: "POST" })).body).toBeNull();
    expect((await eventOf("/things/add", { method: "POST", body: "" })).body).toBeNull();
  });

  it.each([
    ["gzip", gzipSync],
    ["deflate", deflateSync],
  ])("has a body unpacked that came as %s", async (coding, pack) => {
    const sending = { method: "POST", body: pack('{"a":1}'), headers: { "Content-Encoding": coding } };

    expect((await eventOf("/things/add", sending)).body).toBe('{"a":1}');
  });
});

describe("path parameters", () => {
  let byId: Gateway;

  beforeAll(async () => {
    const { outdir, remove } = await writeFunctions({ "admin-things/id": echo });
    const lambda = await startLambda({ outdir });
    await lambda.invoke("admin-things-id", {});
    byId = await startGateway({ lambda, endpoints, allowedOrigins: [], uploads: false });
    await remove();
  });

  afterAll(() => byId.close());

  it.each([
    ["7", "7"],
    ["a%2Fb", "a/b"],
    ["%2e%2e", ".."],
    ["..", ".."],
    ["a;b=c", "a;b=c"],
    ["a+b%20c", "a+b c"],
    ["%C3%A9", "é"],
    ["1%00", "1\0"],
    ["100%25", "100%"],
    ["a%2526", "a%26"],
  ])("%j arrives decoded once", async (sent, id) => {
    const { json } = await send(byId.url, `/admin-things/id/${sent}`);

    expect(json.pathParameters).toEqual({ id });
    expect(json.path).toBe(`/admin-things/id/${sent}`);
    expect(json.resource).toBe("/admin-things/id/{id}");
  });
});
