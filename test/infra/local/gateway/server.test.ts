import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type Gateway, type GatewayOptions, startGateway } from "../../../../infra/aws-local/api-gateway/server.ts";
import { type Lambda, startLambda } from "../../../../infra/aws-local/lambda/lambda.ts";
import { echo, endpoints, obey, send, streaming, writeFunctions } from "../fixtures.ts";

let built: Awaited<ReturnType<typeof writeFunctions>>;
let lambda: Lambda;
let gateway: Gateway;
const start = (options: Partial<GatewayOptions> = {}) =>
  startGateway({ lambda, endpoints, allowedOrigins: [], uploads: false, ...options });

beforeAll(async () => {
  built = await writeFunctions({
    "things/list": streaming(`start().write("x".repeat(5_000)); stream.end();`),
    "things/random": echo,
    "random/list": echo,
    "things/add": obey,
    "admin-things/id": echo,
  });
  lambda = await startLambda(built);
  gateway = await start();
  vi.spyOn(console, "error").mockImplementation(() => {});
});

afterAll(async () => {
  await gateway.close();
  await built.remove();
});

const notFound = { data: "Not found", code: 404 };

describe("routes", () => {
  it("match a literal segment before a parameter", async () => {
    const { json } = await send(gateway.url, "/things/random");
    const other = await send(gateway.url, "/others/random");

    expect(json.resource).toBe("/things/random");
    expect(other.json).toMatchObject({ resource: "/{kind}/random", pathParameters: { kind: "others" } });
  });

  it("lead each method to its own function", async () => {
    const { json } = await send(gateway.url, "/admin-things/id/1", { method: "DELETE" });

    expect(json).toMatchObject({ httpMethod: "DELETE", pathParameters: { id: "1" } });
  });

  it.each([
    "/",
    "*",
    "/things//",
    "//things",
    "/Things",
    "/things;a=b",
    "/%74hings",
    "/things%2Frandom/x",
    "/./things",
    "/x/../things",
    "/things/add/../random",
    "/admin-things/id//",
    "/admin-things/id/1//",
    "/admin-things/id/1/2",
    "/admin-things//id/1",
    "/local/things",
    "/2015-03-31/functions",
    "/images/a.png",
    "/constructor",
  ])("are matched to the letter: %s is none", async (path) => {
    const { status, json, headers } = await send(gateway.url, path);

    expect({ status, json }).toEqual({ status: 404, json: notFound });
    expect(headers["content-type"]).toBe("application/json");
  });

  it.each([
    ["/things/random/", "/things/random", null],
    ["/admin-things/id/1/", "/admin-things/id/{id}", { id: "1" }],
    ["/admin-things/id", "/admin-things/id", null],
    ["/admin-things/id/", "/admin-things/id", null],
  ])(
    "mind neither a slash at the end nor a parameter that is missing there: %s",
    async (path, resource, parameters) => {
      const { json } = await send(gateway.url, path);

      expect(json).toMatchObject({ path, resource, pathParameters: parameters });
      expect(json.requestContext.resourcePath).toBe(resource);
    },
  );

  it("ignore one slash at the end", async () => {
    expect((await send(gateway.url, "/things/")).text).toBe("x".repeat(5_000));
  });

  it.each(["POST", "PUT", "PATCH", "DELETE", "PROPFIND"])("are 404 with another method: %s", async (method) => {
    const { status, json } = await send(gateway.url, "/things/random", { method, body: "{}" });

    expect({ status, json }).toEqual({ status: 404, json: notFound });
  });

  it.each(["/things", "/things/random"])("lead HEAD to the function of a public GET: %s", async (path) => {
    const { status, text, headers } = await send(gateway.url, path, { method: "HEAD" });

    expect({ status, text }).toEqual({ status: 200, text: "" });
    expect(headers["content-type"]).toBe("application/json");
    expect(headers).not.toHaveProperty("content-length");
  });

  it.each(["/things/add", "/admin-things/id/1", "/nowhere"])("are 404 for any other HEAD: %s", async (path) => {
    const { status, text, headers } = await send(gateway.url, path, { method: "HEAD" });

    expect({ status, text }).toEqual({ status: 404, text: "" });
    expect(headers["content-type"]).toBe("application/json");
  });

  it("ignore headers that name another method", async () => {
    const headers = { "X-HTTP-Method-Override": "DELETE", "X-Method-Override": "DELETE" };

    expect((await send(gateway.url, "/admin-things/id/1", { headers })).json.httpMethod).toBe("GET");
  });
});

/** Lets a function give this result. */
const give = (result: unknown, headers = {}) =>
  send(gateway.url, "/things/add", { method: "POST", body: JSON.stringify(result), headers });

describe("a function's result", () => {
  it("becomes the answer", async () => {
    const { status, headers, text } = await give({
      statusCode: 201,
      headers: { "X-One": "1", "X-Number": 2, "X-Flag": true, "X-Both": "left out" },
      multiValueHeaders: { "Set-Cookie": ["a=1", "b=2"], "x-both": ["kept"] },
      body: "text",
    });

    expect({ status, text }).toEqual({ status: 201, text: "text" });
    expect(headers).toMatchObject({ "x-one": "1", "x-number": "2", "x-flag": "true", "x-both": "kept" });
    expect(headers["set-cookie"]).toEqual(["a=1", "b=2"]);
    expect(headers["content-type"]).toBe("application/json");
  });

  it("is decoded from base64 only if isBase64Encoded is true", async () => {
    expect((await give({ statusCode: 200, body: "aGk=" })).text).toBe("aGk=");
    expect((await give({ statusCode: 200, body: "aGk=", isBase64Encoded: true })).text).toBe("hi");
  });

  it("needs no body", async () => {
    expect(await give({ statusCode: 204 })).toMatchObject({ status: 204, text: "" });
    expect(await give({ statusCode: 304, body: "", headers: { ETag: '"a"' } })).toMatchObject({
      status: 304,
      text: "",
    });
    expect(await give({ statusCode: 200, body: null, headers: null })).toMatchObject({ status: 200, text: "" });
  });

  it("has headers of the connection renamed", async () => {
    const { headers, text } = await give({
      statusCode: 200,
      headers: { "Content-Length": "1", Date: "x" },
      body: "text",
    });

    expect(text).toBe("text");
    expect(headers).toMatchObject({ "x-amzn-remapped-content-length": "1", "x-amzn-remapped-date": "x" });
  });

  it.each([
    null,
    "text",
    [],
    {},
    { body: "no status" },
    { statusCode: "two hundred" },
    { statusCode: 200.5 },
    { statusCode: 101 },
    { statusCode: 600 },
    { statusCode: 200, body: { an: "object" } },
    { statusCode: 200, headers: ["a"] },
    { statusCode: 200, headers: { a: { b: 1 } } },
    { statusCode: 200, headers: { "X-Left": "out", a: "line\nbreak" } },
    { statusCode: 200, headers: { "no name": "" } },
    { statusCode: 200, multiValueHeaders: { a: "b" } },
    { statusCode: 200, isBase64Encoded: "yes" },
    { statusCode: 200, more: 1 },
  ])("is refused when it is malformed: %j", async (result) => {
    const { status, json, headers } = await give(result);

    expect({ status, json }).toEqual({ status: 500, json: { data: "Internal server error", code: 500 } });
    expect(headers["access-control-allow-origin"]).toBe("*");
    expect(headers).not.toHaveProperty("x-left");
  });
});

describe("compression", () => {
  const large = { statusCode: 200, body: "x".repeat(1_024) };

  it.each(["gzip", "deflate, gzip;q=0.5", "br, GZIP"])("happens for %s", async (accepted) => {
    const { headers, text } = await give(large, { "Accept-Encoding": accepted });

    expect(headers["content-encoding"]).toBe("gzip");
    expect(text).toBe(large.body);
  });

  it.each(["", "identity", "br", "gzip;q=0", "gzip; q=0.0, br", "xgzip"])(
    "does not happen for %j",
    async (accepted) => {
      const { headers, text } = await give(large, { "Accept-Encoding": accepted });

      expect(headers["content-encoding"]).toBeUndefined();
      expect(text).toBe(large.body);
    },
  );

  it("does not happen for small answers, compressed answers and streams", async () => {
    const headers = { "Accept-Encoding": "gzip" };
    const small = await give({ ...large, body: "x".repeat(1_023) }, headers);
    const packed = await give({ ...large, headers: { "content-encoding": "identity" } }, headers);
    const stream = await send(gateway.url, "/things", { headers });

    expect(small.headers["content-encoding"]).toBeUndefined();
    expect(packed.headers["content-encoding"]).toBe("identity");
    expect(stream).toMatchObject({ status: 200, text: "x".repeat(5_000) });
    expect(stream.headers["content-encoding"]).toBeUndefined();
  });
});

describe("additional pages", () => {
  it("are served before all routes", async () => {
    const local = await start({
      pages: (request, response) => {
        if (request.url !== "/things/random") return false;
        response.end("page");
        return true;
      },
    });

    expect((await send(local.url, "/things/random")).text).toBe("page");
    expect((await send(local.url, "/others/random")).status).toBe(200);
    await local.close();
  });
});

describe("the server", () => {
  it("fails with an error when its port is taken", async () => {
    const port = Number(new URL(gateway.url).port);

    await expect(start({ port })).rejects.toThrow(/EADDRINUSE/);
  });

  it("answers on both addresses of localhost", async () => {
    const port = new URL(gateway.url).port;

    expect((await fetch(`http://[::1]:${port}/things/random`)).status).toBe(200);
    expect((await fetch(`http://localhost:${port}/things/random`)).status).toBe(200);
  });

  it("closes even if clients keep their connections", async () => {
    const local = await start();
    const socket = connect(Number(new URL(local.url).port), "127.0.0.1");
    await new Promise((done) => socket.once("connect", done));
    const startedAt = performance.now();

    await local.close();

    expect(performance.now() - startedAt).toBeLessThan(3_000);
    socket.destroy();
  });
});
