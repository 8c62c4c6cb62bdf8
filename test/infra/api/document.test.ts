import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { apiDocument, isServed, routedEndpoints } from "../../../infra/api/document.ts";
import { envelopeOf, gatewayResponses } from "../../../infra/api/gateway-responses.ts";
import { type ApiGateway, startApiGateway } from "../../../infra/aws-local/api-gateway/server.ts";
import { lambdaOf } from "../../../infra/aws-local/test/rest-api.ts";
import { send } from "../../../infra/aws-local/test/send.ts";
import { settings } from "../../../infra/settings/settings.ts";
import { functionName, isNavigation, isPublic, methodsOf, routesOf } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { exposedHeaders } from "../../../lib/contract/headers.ts";

/* What API Gateway returns without a function, and which function it invokes for each route. */

const foreign = "https://foreign.example.org";

/** A function that responds with its own name, or not, or with an error. */
const functions = Object.fromEntries(
  routedEndpoints(endpoints, { edge: true }).map((each) => {
    const result = { statusCode: 200, headers: { ETag: functionName(each) } };
    const handler = ({ path }: { path: string }) => {
      if (path.endsWith("fails")) return { errorType: "Error", errorMessage: "on purpose" };
      if (path.endsWith("hangs")) return new Promise(() => {});
      return "list" in each.response ? { head: result } : result;
    };
    return [functionName(each), handler] as const;
  }),
);

const sample = (path: string) => path.replace(/\{\w+\}/, "1");
const routes = endpoints.flatMap((declaration) =>
  routesOf(declaration).flatMap((path) => methodsOf(declaration).map((method) => ({ method, path, declaration }))),
);

/** That of the stage's edge. */
const apiKey = "the-key-that-the-edge-sends";

describe.each(settings.stages)("The API document of stage $name", (stage) => {
  const { allowedOrigins } = stage;
  const origins = [undefined, ...allowedOrigins, foreign, "null", `${allowedOrigins[0]}.example.org`];
  let gateway: ApiGateway;

  beforeAll(async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    gateway = await startApiGateway({
      document: apiDocument({
        title: "test",
        endpoints,
        settings: { ...stage, reference: "https://docs.example.com/?a=1" },
        partition: "aws",
        region: "eu-central-1",
        functionArnOf: (name) => `arn:aws:lambda:eu-central-1:123456789012:function:${name}`,
        invokerArn: "arn:aws:iam::123456789012:role/invoker",
      }),
      lambda: lambdaOf(functions),
      apiKeys: [apiKey],
      timeoutInMilliseconds: 500,
    });
  });

  afterAll(() => gateway.close());

  /** Sends a request as a page of this origin does; returns the response without what all responses have. */
  async function request(method: string, path: string, origin?: string, body?: string) {
    const headers = {
      "x-api-key": apiKey,
      ...(origin && { Origin: origin }),
      ...(body && { "Content-Type": "application/json" }),
    };
    const sent = await send(gateway.url, path, { method, headers, ...(body && { body }) });
    const common = ["date", "connection", "keep-alive", "x-amzn-requestid", "content-length"];
    const others = Object.fromEntries(Object.entries(sent.headers).filter(([name]) => !common.includes(name)));
    expect(others["content-type"]).toBe("application/json");
    return { status: sent.status, headers: others, body: sent.text };
  }

  it("has a route for each declaration, also without its parameter, to its function", async () => {
    for (const { method, path, declaration } of routes.filter((each) => isServed(each.declaration, stage))) {
      const { status, headers } = await request(method, sample(path));
      expect([method, path, status, headers.etag]).toEqual([method, path, 200, functionName(declaration)]);
    }
  });

  it("responds to preflights of the listed origins, with cookies, of all others to those of public paths alone", async () => {
    const called = routes.filter(({ declaration }) => !isNavigation(declaration));
    for (const [path, all] of Map.groupBy(called, (each) => each.path)) {
      const arePublic = all.every(({ declaration }) => isPublic(declaration));
      const allowed = {
        "access-control-allow-methods": all.map(({ method }) => method).join(","),
        "access-control-allow-headers": arePublic
          ? "Content-Type, Prefer"
          : "Content-Type, If-Match, Idempotency-Key, Prefer",
        "access-control-max-age": "600",
      };
      for (const origin of origins) {
        const isAllowed = origin !== undefined && allowedOrigins.includes(origin);
        const { "content-type": _, ...headers } = (await request("OPTIONS", sample(path), origin)).headers;
        const administrative = isAllowed
          ? { "access-control-allow-origin": origin, "access-control-allow-credentials": "true", ...allowed }
          : {};
        const toAll = { "access-control-allow-origin": "*", ...allowed };
        const expected = { vary: "Origin", ...(arePublic ? toAll : {}), ...administrative };
        expect({ path, origin, headers }).toEqual({ path, origin, headers: expected });
      }
    }
    expect(await request("OPTIONS", "/contributors")).toMatchObject({ status: 204, body: "" });
    for (const path of ["/nowhere", "/sign-in", "/sign-in/callback"])
      expect((await request("OPTIONS", path, allowedOrigins[0])).status).toBe(404);
  });

  it("returns 503 on routes of the file service and of sign-in where there is none, which listed origins may read, but no page where browsers go", async () => {
    // Not by `isServed`, on which the document itself goes.
    const refused = routes.filter(
      ({ declaration: { needsFileService, needsSignIn } }) =>
        (needsFileService && !stage.uploads) || (needsSignIn && !stage.signIn),
    );
    for (const { method, path, declaration } of refused) {
      for (const origin of origins) {
        const sent = method === "GET" ? undefined : "{}";
        const { status, headers, body } = await request(method, sample(path), origin, sent);
        const what = declaration.needsFileService ? "file uploads" : "sign-in";
        expect([status, body]).toEqual([503, `{"data":"This service is not handling ${what}.","code":503}`]);
        const listed = isNavigation(declaration) ? undefined : allowedOrigins.find((each) => each === origin);
        expect(headers["access-control-allow-origin"]).toBe(listed);
        if (isNavigation(declaration))
          expect(headers).toMatchObject({ "cache-control": "no-store", "referrer-policy": "no-referrer" });
      }
    }
  });

  interface Row {
    readonly what: string;
    readonly type: keyof typeof gatewayResponses;
    readonly status: number;
    readonly method: string;
    readonly path: string;
    readonly body?: string;
    /** Seconds after which the client may try again. */
    readonly wait?: string;
  }
  const unknown = { type: "MISSING_AUTHENTICATION_TOKEN", status: 404 } as const;

  it.each<Row>([
    { what: "an unknown path", ...unknown, method: "GET", path: "/nowhere" },
    { what: "an unknown administrative path", ...unknown, method: "GET", path: "/admin-nowhere" },
    { what: "an unknown method", ...unknown, method: "PUT", path: "/contributors" },
    {
      what: "a broken escape",
      type: "BAD_REQUEST_PARAMETERS",
      status: 400,
      method: "GET",
      path: "/contributor/slug/%zz",
    },
    {
      what: "a body of more than 10 MB",
      type: "REQUEST_TOO_LARGE",
      status: 413,
      method: "POST",
      path: "/admin-roles/add",
      body: "x".repeat(10 * 1_048_576 + 1),
    },
    {
      what: "a function that fails, which may be tried again",
      type: "INTEGRATION_FAILURE",
      status: 503,
      wait: "5",
      method: "GET",
      path: "/contributor/slug/fails",
    },
    {
      what: "a function that takes too long, which may be tried again",
      type: "INTEGRATION_TIMEOUT",
      status: 504,
      wait: "5",
      method: "GET",
      path: "/contributor/slug/hangs",
    },
  ])("returns $status to $what", async ({ type, status, wait, method, path, body }) => {
    for (const origin of [undefined, foreign]) {
      const response = await request(method, path, origin, body);
      expect(response).toMatchObject({ status, body: envelopeOf(gatewayResponses[type]) });
      expect(response.headers["retry-after"]).toBe(wait);
      // Every page may read them, since they hold nothing of a user.
      expect(response.headers["access-control-allow-origin"]).toBe(origin);
      expect(response.headers["access-control-allow-credentials"]).toBe("true");
      expect(response.headers["access-control-expose-headers"]).toBe(exposedHeaders);
      expect(response.headers.link).toBe(status === 404 ? "<https://docs.example.com/?a=1>; rel=help" : undefined);
    }
  });
});

it("asks to try again in a second after a throttle", () => {
  const throttle = { status: 429, retryAfterSeconds: 1 };
  expect(gatewayResponses).toMatchObject({ QUOTA_EXCEEDED: throttle, THROTTLED: throttle });
});
