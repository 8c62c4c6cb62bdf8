import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { gatewayResponses } from "../../../infra/api/gateway-responses.ts";
import { type Gateway, startGateway } from "../../../infra/aws-local/api-gateway/server.ts";
import { type Lambda, startLambda } from "../../../infra/aws-local/lambda/lambda.ts";
import { settings } from "../../../infra/stages.ts";
import { type Declaration, functionName, methodsOf, routesOf, stem } from "../../../lib/contract/declare.ts";
import { endpoints } from "../../../lib/contract/endpoints.ts";
import { send, streaming, writeFunctions } from "../local/fixtures.ts";
import {
  type Answer,
  gatewayResponse,
  gatewayResponsesOf,
  integrationOf,
  mockAnswer,
  type Operation,
  operationsOf,
} from "./rest-api.ts";
import { type Template, useSynthesis } from "./synthesis.ts";

/* The local gateway and the REST API of every stage answer alike where no function is asked. */

const foreign = "https://foreign.example.org";
const fails = "fails";
const hangs = "hangs";

const synthesis = useSynthesis();

let built: Awaited<ReturnType<typeof writeFunctions>>;
let lambda: Lambda;

beforeAll(async () => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  built = await writeFunctions(Object.fromEntries(endpoints.map((each) => [stem(each), naming(each)])));
  lambda = await startLambda(built);
});

afterAll(() => built.remove());

/** A function that answers with its own name, to HEAD as well. */
function naming(declaration: Declaration) {
  const head = `{ statusCode: 200, headers: { ETag: "${functionName(declaration)}" } }`;
  if ("list" in declaration.answers) return streaming(`start(${head}); stream.end();`);
  return `export const handler = async ({ path }) => {
    if (path.endsWith("${fails}")) throw new Error("on purpose");
    if (path.endsWith("${hangs}")) await new Promise((resolve) => setTimeout(resolve, 5_000));
    return ${head};
  };`;
}

const compared = /^(access-control-.*|retry-after|vary)$/;
const comparable = ({ status, headers, body }: Answer) => ({
  status,
  headers: Object.fromEntries(Object.entries(headers).filter(([name]) => compared.test(name))),
  body,
});

describe.each(settings.stages)("The local gateway and the API of stage $name", ({ name, uploads, allowedOrigins }) => {
  const origins = [undefined, ...allowedOrigins, foreign, "null"];
  let template: Template;
  let operations: ReadonlyMap<string, Operation>;
  let gateway: Gateway;
  /** One that does not wait. */
  let hasty: Gateway;

  beforeAll(async () => {
    template = synthesis.template(`colophon-${name}`);
    operations = operationsOf(template);
    gateway = await startGateway({ lambda, allowedOrigins, uploads });
    hasty = await startGateway({ lambda, allowedOrigins, uploads, limits: { timeoutInMilliseconds: 100 } });
  });

  afterAll(() => Promise.all([gateway.close(), hasty.close()]));

  async function ask(method: string, path: string, headers: Record<string, string> = {}, body?: string, of = gateway) {
    const given = body === undefined ? {} : { body };
    const { status, headers: got, text } = await send(of.url, path, { method, headers, ...given });
    const { "content-type": type, etag } = got;
    return { ...comparable({ status, headers: got as Record<string, string>, body: text }), type, etag };
  }

  const from = (origin: string | undefined): Record<string, string> => (origin ? { Origin: origin } : {});
  const sample = (path: string) => path.replace(/\{\w+\}/, "1");
  const routes = endpoints.flatMap((each) =>
    routesOf(each).flatMap((path) =>
      methodsOf(each).map((method) => ({ path, route: `${method} ${path}`, declaration: each })),
    ),
  );

  it("have the same routes, to the same functions", async () => {
    const named = new Map(routes.map(({ route, declaration }) => [route, functionName(declaration)]));
    for (const [route, operation] of operations) {
      const [method = "", path = ""] = route.split(" ");
      if (integrationOf(operation).type === "mock") continue;
      expect(await ask(method, sample(path))).toMatchObject({ status: 200, etag: named.get(route) });
    }
    for (const path of new Set(routes.map((each) => each.path))) {
      for (const method of ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"].filter(
        (it) => !operations.has(`${it} ${path}`),
      )) {
        expect(await ask(method, sample(path))).toMatchObject({ status: 404 });
      }
    }
  });

  it("answer preflights alike, whoever asks", async () => {
    for (const [route, operation] of operations) {
      const [verb, path = ""] = route.split(" ");
      if (verb !== "OPTIONS") continue;
      for (const origin of origins) {
        const expected = comparable(mockAnswer(operation, from(origin)));
        const { type, etag, ...local } = await ask("OPTIONS", sample(path), from(origin));
        expect({ route, origin, ...local }).toEqual({ route, origin, ...expected });
        expect(mockAnswer(operation, { origin: String(origin) })).toEqual(
          mockAnswer(operation, { Origin: String(origin) }),
        );
      }
    }
  });

  it("answer 503 in the envelope where there is no file service", async () => {
    const mocks = [...operations].filter(([route, operation]) => {
      return integrationOf(operation).type === "mock" && !route.startsWith("OPTIONS");
    });
    const files = routes.filter(({ declaration }) => declaration.files).map(({ route }) => route);
    expect(mocks.map(([route]) => route).sort()).toEqual(uploads ? [] : files.sort());
    for (const [route, mock] of mocks) {
      const [method = "", path = ""] = route.split(" ");
      for (const origin of origins) {
        const request = { ...from(origin), "Content-Type": "application/json" };
        const answer = mockAnswer(mock, request);
        expect(answer.body).toBe('{"data":"This service is not handling file uploads.","code":503}');
        const { type, etag, ...local } = await ask(method, sample(path), request, "{}");
        expect(local).toEqual(comparable(answer));
        expect(type).toBe("application/json");
      }
    }
  });

  it.each([
    ["MISSING_AUTHENTICATION_TOKEN", "GET", "/nowhere", undefined],
    ["MISSING_AUTHENTICATION_TOKEN", "PUT", "/contributors", undefined],
    ["BAD_REQUEST_PARAMETERS", "GET", "/contributor/slug/%zz", undefined],
    ["REQUEST_TOO_LARGE", "POST", "/admin-roles/add", "x".repeat(10 * 1_048_576 + 1)],
    ["INTEGRATION_FAILURE", "GET", `/contributor/slug/${fails}`, undefined],
    ["INTEGRATION_TIMEOUT", "GET", `/contributor/slug/${hangs}`, undefined],
  ] as const)("answer the same error: %s at %s %s", async (type, method, path, body) => {
    const local = await ask(method, path, {}, body, type === "INTEGRATION_TIMEOUT" ? hasty : gateway);
    const answer = gatewayResponse(template, type, {});

    expect({ status: local.status, body: local.body }).toEqual({ status: answer.status, body: answer.body });
    expect(local.headers["retry-after"]).toBe(answer.headers["retry-after"]);
  });

  it("let every page read a gateway response that it may read locally", async () => {
    for (const path of ["/contributor/slug/%zz", "/admin-roles/id/%zz", "/nowhere"]) {
      for (const origin of [...allowedOrigins, foreign]) {
        const { headers: local } = await ask("GET", path, from(origin));
        const type = path === "/nowhere" ? "MISSING_AUTHENTICATION_TOKEN" : "BAD_REQUEST_PARAMETERS";
        const { headers: aws } = gatewayResponse(template, type, from(origin));
        const allowed = local["access-control-allow-origin"];
        if (allowed) expect([allowed, origin]).toContain(aws["access-control-allow-origin"]);
        if (local["access-control-allow-credentials"]) {
          expect(aws).toMatchObject({
            "access-control-allow-origin": origin,
            "access-control-allow-credentials": "true",
          });
        }
      }
    }
  });

  it("have the same gateway responses, each valid JSON in the envelope for any request", () => {
    expect(Object.keys(gatewayResponsesOf(template)).sort()).toEqual(Object.keys(gatewayResponses).sort());
    const hostile = { requestId: '"}', "error.message": '"quoted" \\ and\nbroken', path: "</script>" };
    for (const [type, { status, message }] of Object.entries(gatewayResponses)) {
      for (const context of [{}, hostile]) {
        const answer = gatewayResponse(template, type, { Origin: foreign }, context);
        expect(answer.status).toBe(status);
        expect(JSON.parse(answer.body)).toEqual({ data: message, code: status });
        expect(answer.headers).toHaveProperty("access-control-allow-origin");
        expect(answer.headers).toHaveProperty(
          "access-control-expose-headers",
          "Age, ETag, Retry-After, x-amzn-RequestId",
        );
      }
    }
  });

  it("have the statuses of the interface", () => {
    const statusOf = (type: string) => gatewayResponse(template, type, {}).status;

    expect(statusOf("MISSING_AUTHENTICATION_TOKEN")).toBe(404);
    expect(statusOf("REQUEST_TOO_LARGE")).toBe(413);
    expect(statusOf("THROTTLED")).toBe(429);
    expect(statusOf("DEFAULT_5XX")).toBe(500);
  });

  it("have Retry-After for temporary errors", () => {
    const waits = Object.keys(gatewayResponses).flatMap((type) => {
      const { "retry-after": wait } = gatewayResponse(template, type, {}).headers;
      return wait === undefined ? [] : [[type, wait]];
    });

    expect(Object.fromEntries(waits)).toEqual({
      QUOTA_EXCEEDED: "1",
      THROTTLED: "1",
      // Lambda's own 429 as well, when as many of a function run as may (API Gateway has no other type for it).
      INTEGRATION_FAILURE: "5",
      INTEGRATION_TIMEOUT: "5",
    });
  });
});
