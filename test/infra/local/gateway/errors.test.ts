import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type Gateway, type GatewayOptions, startGateway } from "../../../../infra/aws-local/api-gateway/server.ts";
import { type Lambda, startLambda } from "../../../../infra/aws-local/lambda/lambda.ts";
import { echo, endpoints, send, streaming, writeFunctions } from "../fixtures.ts";

const panel = "https://panel.example.com";
const other = "https://other.example.com";

let built: Awaited<ReturnType<typeof writeFunctions>>;
let lambda: Lambda;
let gateway: Gateway;
const start = (options: Partial<GatewayOptions> = {}) =>
  startGateway({ lambda, endpoints, allowedOrigins: [panel], uploads: false, ...options });

beforeAll(async () => {
  built = await writeFunctions({
    "things/list": streaming("await gate(); start(); stream.end();"),
    "things/random": "export const handler = async () => { await gate(); return { statusCode: 200 }; };",
    "things/add": "export const handler = async ({ body }) => ({ statusCode: 200, body: String(body?.length) });",
    "admin-things/id": "export const handler = async () => { throw new Error('secret'); };",
    "admin-things/image": echo,
  });
  lambda = await startLambda(built);
  gateway = await start();
  vi.spyOn(console, "error").mockImplementation(() => {});
});

afterAll(async () => {
  await gateway.close();
  await built.remove();
});

const add = (body: string | Buffer, headers = {}) =>
  send(gateway.url, "/things/add", { method: "POST", body, headers });

const tooLong = { status: 413, json: { data: "Request too long", code: 413 } };

describe("sizes", () => {
  const megabyte = 1_048_576;

  it("accept a body whose whole event fits into Lambda's 6 MB", async () => {
    const length = 6 * megabyte - 4_096;

    expect(await add("x".repeat(length))).toMatchObject({ status: 200, text: String(length) });
  });

  it("reject a body whose event does not fit into Lambda's 6 MB", async () => {
    expect(await add("x".repeat(6 * megabyte))).toMatchObject(tooLong);
    expect(await add("\n".repeat(4 * megabyte))).toMatchObject(tooLong);
  });

  it("reject a body of more than 10 MB, also without Content-Length", async () => {
    const withoutLambda = await start({ lambda: { ...lambda, invoke: async () => ({ result: { statusCode: 200 } }) } });
    const body = Buffer.alloc(10 * megabyte, "x");
    const path = "/things/add";

    expect((await send(withoutLambda.url, path, { method: "POST", body })).status).toBe(200);
    const larger = Buffer.concat([body, Buffer.from("x")]);
    expect(await send(withoutLambda.url, path, { method: "POST", body: larger })).toMatchObject(tooLong);
    const stream = new Response(larger).body;
    const response = await fetch(withoutLambda.url + path, { method: "POST", body: stream, duplex: "half" });
    expect(response.status).toBe(413);
    await withoutLambda.close();
  });

  it("apply to the decompressed body as well", async () => {
    const withoutLambda = await start({ lambda: { ...lambda, invoke: async () => ({ result: { statusCode: 200 } }) } });
    const sending = { method: "POST", headers: { "Content-Encoding": "gzip" } };
    const path = "/things/add";

    const bomb = gzipSync(Buffer.alloc(10 * megabyte + 1));
    expect(await send(withoutLambda.url, path, { ...sending, body: bomb })).toMatchObject(tooLong);
    const large = gzipSync(Buffer.alloc(10 * megabyte));
    expect((await send(withoutLambda.url, path, { ...sending, body: large })).status).toBe(200);
    await withoutLambda.close();
  });

  it("reject headers of more than 10,240 bytes", async () => {
    const headers = { Cookie: `refreshToken=${"x".repeat(8_192)}` };
    expect((await add("", headers)).status).toBe(200);

    const { status, json } = await add("", { Cookie: `refreshToken=${"x".repeat(10_240)}` });

    expect({ status, json }).toEqual({ status: 431, json: { data: "Request header fields too large", code: 431 } });
  });
});

describe("requests that cannot be read", () => {
  const unreadable = { status: 400, json: { data: "Required parameters missing", code: 400 } };

  it.each(["/things/add?a=%", "/things/add?%zz=1", "/things/add?a=%ff", "/things/add?a=b|c", "/things/add?a={}"])(
    "are refused: %s",
    async (path) => {
      expect(await send(gateway.url, path, { method: "POST" })).toMatchObject(unreadable);
    },
  );

  it("are 400 if the path is not encoded properly", async () => {
    expect(await send(gateway.url, "/admin-things/id/%zz")).toMatchObject(unreadable);
  });

  it("are rejected if the body does not match its Content-Encoding", async () => {
    expect(await add("no gzip", { "Content-Encoding": "gzip" })).toMatchObject(unreadable);
    expect(await add("{}", { "Content-Encoding": "br" })).toMatchObject({
      status: 415,
      json: { data: "Unsupported media type", code: 415 },
    });
  });

  it("are 400 if they are not HTTP", async () => {
    const { hostname, port } = new URL(gateway.url);
    const socket = connect(Number(port), hostname);
    socket.end("what is this?\r\n\r\n");

    const answer = await text(socket);

    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toMatch(/\r\n\r\n{"data":"Bad request","code":400}$/);
  });
});

describe("functions that do not answer", () => {
  it("answer 503 without the reason", async () => {
    const { status, text: body, headers } = await send(gateway.url, "/admin-things/id/1");

    expect({ status, body }).toEqual({
      status: 503,
      body: '{"data":"Service unavailable, try again in a few seconds","code":503}',
    });
    expect(headers["retry-after"]).toBe("5");
  });

  it("fail when there is no such function", async () => {
    const local = await start({ endpoints: endpoints.map((each) => ({ ...each, path: "/nowhere" })) });

    expect((await send(local.url, "/nowhere")).status).toBe(503);
    await local.close();
  });

  it.each(["/things", "/things/random"])("are 504 after the timeout: %s", async (path) => {
    const release = built.newGate();
    const local = await start({ limits: { timeoutInMilliseconds: 30 } });

    expect(await send(local.url, path)).toMatchObject({
      status: 504,
      json: { data: "Endpoint request timed out", code: 504 },
      headers: { "retry-after": "5" },
    });
    release();
    await local.close();
  });

  it("are waited for 29 s", async () => {
    // An environment that is still being opened has a timer of its own.
    await send(gateway.url, "/things/random");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const release = built.newGate();
    const answered = send(gateway.url, "/things/random");
    await vi.waitFor(() => expect(vi.getTimerCount()).toBeGreaterThanOrEqual(2));

    await vi.advanceTimersByTimeAsync(28_000);
    expect(await Promise.race([answered, "waiting"])).toBe("waiting");
    await vi.advanceTimersByTimeAsync(1_000);

    vi.useRealTimers();
    expect((await answered).status).toBe(504);
    release();
  });
});

describe("the file service", () => {
  const path = "/admin-things/image/1";
  const paths = [path, "/admin-things/image", "/admin-things/image/"];
  const sending = { method: "POST", body: '{"image":""}' };

  it.each(paths)("is answered 503 by the gateway itself without uploads: %s", async (path) => {
    const untouched = await start({ lambda: { ...lambda, invoke: () => Promise.reject(new Error("touched")) } });

    expect(await send(untouched.url, path, { ...sending, headers: { Origin: panel } })).toMatchObject({
      status: 503,
      json: { data: "This service is not handling file uploads.", code: 503 },
      headers: { "access-control-allow-origin": panel },
    });
    await untouched.close();
  });

  it("is a function with uploads", async () => {
    const local = await start({ uploads: true });

    expect((await send(local.url, path, sending)).json).toMatchObject({ body: sending.body });
    await local.close();
  });
});

const corsOf = (headers: object) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith("access-control") || name === "vary"));

describe("preflights", () => {
  const preflight = (path: string, origin?: string) =>
    send(gateway.url, path, {
      method: "OPTIONS",
      headers: { ...(origin ? { Origin: origin } : {}), "Access-Control-Request-Method": "DELETE" },
    });

  it("allow the listed origins on administrative paths, with cookies", async () => {
    const { status, text: body, headers } = await preflight("/admin-things/id/1", panel);

    expect({ status, body }).toEqual({ status: 204, body: "" });
    expect(corsOf(headers)).toEqual({
      "access-control-allow-origin": panel,
      "access-control-allow-credentials": "true",
      "access-control-allow-methods": "GET,DELETE",
      "access-control-allow-headers": "Content-Type, If-Match, Idempotency-Key",
      "access-control-max-age": "600",
      vary: "Origin",
    });
  });

  it.each([
    other,
    "null",
    `${panel}.evil.com`,
    `${panel}:8443`,
    panel.toUpperCase(),
    panel.replace("https", "http"),
    undefined,
  ])("let nobody else in: %s", async (origin) => {
    const { status, headers } = await preflight("/admin-things/id/1", origin);

    expect(status).toBe(204);
    expect(corsOf(headers)).toEqual({ vary: "Origin" });
  });

  it("answer where the parameter is missing, too", async () => {
    const { status, headers } = await preflight("/admin-things/id/", panel);

    expect(status).toBe(204);
    expect(headers["access-control-allow-methods"]).toBe("GET,DELETE");
  });

  it("allow all origins on public paths, without cookies", async () => {
    const { status, headers } = await preflight("/things/add", other);

    expect(status).toBe(204);
    expect(corsOf(headers)).toEqual({
      "access-control-allow-origin": "*",
      "access-control-allow-methods": "POST",
      "access-control-allow-headers": "Content-Type",
      "access-control-max-age": "600",
    });
  });

  it("are 404 where there is no route", async () => {
    expect(await preflight("/nowhere", panel)).toMatchObject({ status: 404, json: { data: "Not found", code: 404 } });
  });
});

describe("the gateway's own errors", () => {
  const expose = { "access-control-expose-headers": "Age, ETag, Retry-After, x-amzn-RequestId" };

  it.each([
    ["/things/random", "PUT", other, { "access-control-allow-origin": "*", ...expose }],
    ["/nowhere", "GET", other, { "access-control-allow-origin": "*", ...expose }],
    ["/admin-things/id/1", "GET", other, { vary: "Origin" }],
    ["/admin-things/id/1", "PUT", undefined, { vary: "Origin" }],
    [
      "/admin-things/id/1",
      "GET",
      panel,
      { "access-control-allow-origin": panel, "access-control-allow-credentials": "true", ...expose, vary: "Origin" },
    ],
  ])("can be read by pages that may call %s: %s from %s", async (path, method, origin, cors) => {
    const { headers } = await send(gateway.url, path, { method, headers: origin ? { Origin: origin } : {} });

    expect(corsOf(headers)).toEqual(cors);
  });
});
