import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { gatewayResponses } from "../../../../infra/api/gateway-responses.ts";
import { type Gateway, startGateway } from "../../../../infra/aws-local/api-gateway/server.ts";
import { type Lambda, startLambda } from "../../../../infra/aws-local/lambda/lambda.ts";
import { endpoints, send, streaming, writeFunctions } from "../fixtures.ts";

let built: Awaited<ReturnType<typeof writeFunctions>>;
let lambda: Lambda;
let gateway: Gateway;

beforeAll(async () => {
  built = await writeFunctions({
    "things/add":
      "export const handler = async ({ body }) => { tell(body); await gate(); return { statusCode: 200 }; };",
    "things/list": streaming("tell(event.queryStringParameters.name); await gate(); start(); stream.end();"),
  });
  lambda = await startLambda({ ...built, limits: { environments: 1, gatewayInMilliseconds: 1_500 } });
  gateway = await startGateway({ lambda, endpoints, allowedOrigins: [], uploads: false });
  vi.spyOn(console, "error").mockImplementation(() => {});
});

afterAll(async () => {
  await gateway.close();
  await lambda.close();
  await built.remove();
});

describe("A request that waits for an environment until API Gateway would give it up", () => {
  it.each([
    ["", (name: string) => send(gateway.url, "/things/add", { method: "POST", body: name })],
    [" of a list", (name: string) => send(gateway.url, `/things?name=${name}`)],
  ])("is answered 503 with Retry-After, and is not run later: one%s", async (_, request) => {
    built.newGate()();
    // An environment that opens slowly is waited for, too.
    await expect.poll(async () => (await request("opening")).status).toBe(200);
    built.forget();
    const release = built.newGate();

    const first = request("first");
    await expect.poll(() => built.seen()).toEqual(["first"]);
    const throttled = await request("throttled");
    release();

    const { status, message, retryAfterSeconds } = gatewayResponses.INTEGRATION_FAILURE;
    expect(throttled.json).toEqual({ data: message, code: status });
    expect(throttled).toMatchObject({ status, headers: { "retry-after": String(retryAfterSeconds) } });
    expect((await first).status).toBe(200);
    await expect.poll(async () => (await request("last")).status).toBe(200);
    expect(built.seen()).toEqual(["first", "last"]);
  });
});
