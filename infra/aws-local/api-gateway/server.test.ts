import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { echo, lambdaOf, restApi, served } from "../test/rest-api.ts";
import { send } from "../test/send.ts";
import { type ApiGateway, type ApiGatewayOptions, startApiGateway } from "./server.ts";

const start = (options: Partial<ApiGatewayOptions> = {}) =>
  startApiGateway({
    document: restApi({ "GET /things": served("echo"), "GET /others": served("echo") }),
    lambda: lambdaOf({ echo }),
    ...options,
  });

/*
 * API Gateway, "Choose an API key source in API Gateway": a key that is in no usage plan of the stage is 403; a method that
 * needs none ignores it. "Test usage plans for REST APIs": so is a missing one.
 */
describe("A method that needs an API key", () => {
  const components = { securitySchemes: { key: { type: "apiKey", name: "x-api-key", in: "header" } } };
  const locked = { ...served("echo"), security: [{ key: [] }] };
  const document = { ...restApi({ "GET /locked": locked, "GET /open": served("echo") }), components };
  const statuses = async (url: string, path: string, ...keys: (string | undefined)[]) => {
    const all: number[] = [];
    for (const key of keys)
      all.push((await fetch(url + path, { headers: key === undefined ? {} : { "x-api-key": key } })).status);
    return all;
  };

  it("is called with a key of the plan, and with no other", async () => {
    const gateway = await start({ document, apiKeys: ["one", "two"] });

    expect(await statuses(gateway.url, "/locked", "one", "two", "three", "", undefined)).toEqual([
      200, 200, 403, 403, 403,
    ]);
    expect(await statuses(gateway.url, "/open", "three", undefined)).toEqual([200, 200]);
    expect(await (await fetch(`${gateway.url}/locked`)).json()).toEqual({ message: "Forbidden" });
    await gateway.close();
  });

  it("is called by nobody without a plan", async () => {
    const gateway = await start({ document });

    expect(await statuses(gateway.url, "/locked", "one", undefined)).toEqual([403, 403]);
    await gateway.close();
  });
});

describe("The server", () => {
  let gateway: ApiGateway;

  beforeAll(async () => {
    gateway = await start();
  });

  afterAll(() => gateway.close());

  it("asks other pages before all routes, one after another", async () => {
    const local = await start({
      pages: [
        () => false,
        ({ url }, response) => {
          if (url === "/things") response.end("page");
          return url === "/things";
        },
      ],
    });

    expect((await send(local.url, "/things")).text).toBe("page");
    expect((await send(local.url, "/others")).json).toMatchObject({ path: "/others" });
    await local.close();
  });

  it("fails with an error when its port is taken", async () => {
    await expect(start({ port: Number(new URL(gateway.url).port) })).rejects.toThrow(/EADDRINUSE/);
  });

  it("answers on both addresses of localhost", async () => {
    const { port } = new URL(gateway.url);

    for (const host of ["[::1]", "localhost"]) expect((await fetch(`http://${host}:${port}/things`)).status).toBe(200);
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
