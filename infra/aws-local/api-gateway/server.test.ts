import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { echo, lambdaOf, restApi, served } from "../test/rest-api.ts";
import { send } from "../test/send.ts";
import { type ApiGatewayOptions, startApiGateway } from "./server.ts";

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

  it.each([
    [{ apiKeys: ["one", "two"] }, 200],
    [{}, 403],
  ])("is called with a key of the plan, and with no other: %j", async (plan, expected) => {
    const gateway = await start({ document, ...plan });
    const keyed = (path: string, key: string) => send(gateway.url, path, { headers: { "x-api-key": key } });

    for (const key of ["one", "two"]) expect((await keyed("/locked", key)).status).toBe(expected);
    for (const refused of [keyed("/locked", "three"), keyed("/locked", ""), send(gateway.url, "/locked")])
      expect(await refused).toMatchObject({ status: 403, json: { message: "Forbidden" } });
    expect((await keyed("/open", "three")).status).toBe(200);
    await gateway.close();
  });
});

describe("The server", () => {
  it("asks other pages before all routes, on both addresses of localhost, and closes while clients are connected", async () => {
    const { url, close } = await start({
      pages: [
        () => false,
        ({ url }, response) => {
          if (url === "/things") response.end("page");
          return url === "/things";
        },
      ],
    });
    const { port } = new URL(url);

    expect((await send(url, "/things")).text).toBe("page");
    for (const host of ["[::1]", "localhost"])
      expect(await (await fetch(`http://${host}:${port}/others`)).json()).toMatchObject({ path: "/others" });
    const socket = connect(Number(port), "127.0.0.1");
    await once(socket, "connect");
    const startedAt = performance.now();
    await close();
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    socket.destroy();
  });
});
