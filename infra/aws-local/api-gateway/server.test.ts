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
