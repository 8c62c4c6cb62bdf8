import { writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { afterEach, beforeAll, describe, expect, inject, it } from "vitest";
import { startApiGateway } from "../../../infra/aws-local/api-gateway/server.ts";
import { listenToClients } from "../../../infra/aws-local/http/listen.ts";
import { localDocument } from "../../../infra/local/stage/document.ts";
import { smokeTest } from "../../../infra/smoke/smoke.ts";
import { withWholeLists } from "../../edge/whole-lists.ts";
import { type Api, send, serveApis } from "../../support/aws-apis.ts";
import { anAdministrator, type Person } from "../../support/people.ts";
import { runScript } from "../../support/script.ts";
import { useStack } from "../../support/stack.ts";

const stack = useStack({ from: "demo" });
let administrator: Person;

beforeAll(async () => {
  administrator = await anAdministrator(stack.sql);
});

afterEach(() => {
  delete process.env.SMOKE_TOKEN;
});

/** The cells of the table's row of an endpoint. */
const rowOf = (report: string, endpoint: string) =>
  report
    .split("\n")
    .find((line) => line.startsWith(`${endpoint} `))
    ?.split(/ {2,}/) ?? [];

/** A server that is none of ours. */
const serve = (listener: RequestListener) => listenToClients(createServer(listener));

describe("npm run smoke -- --stage prod", () => {
  it("asks the API behind the edge by the key of its secret, and prints neither key nor address", async () => {
    const apiKey = "the-key-that-the-edge-sends";
    const document = localDocument({ edge: true });
    const gateway = await startApiGateway({
      document,
      lambda: withWholeLists(stack.lambda, stack.lambda),
      apiKeys: [apiKey],
    });
    let secret = { url: gateway.url, key: apiKey };
    const secretsManager: Api = async (request, response) => {
      expect(await json(request)).toEqual({ SecretId: "/colophon/prod/edge-key-1" });
      send(response, { status: 200, body: { SecretString: JSON.stringify(secret) } });
      return true;
    };
    const secrets = await serveApis(["SECRETS_MANAGER"], [secretsManager]);
    const open = await smokeTest(undefined, { stage: "prod" });
    await gateway.close();
    secret = { url: "https://secret.execute-api.invalid/v1", key: apiKey };
    const closed = await smokeTest(undefined, { stage: "prod" });
    await secrets.close();

    expect(open.report).toMatch(/all as declared$/);
    expect(closed.isFine).toBe(false);
    expect(closed.report).toContain("the API");
    for (const { report } of [open, closed]) expect(report).not.toMatch(/the-key|execute-api|127\.0\.0\.1/);
    await expect(smokeTest(undefined, { stage: "dev" })).rejects.toThrow("URL is missing");
  });
});

describe("npm run smoke", () => {
  it("passes on a stage whose administrative endpoints return 401, and reads nothing that takes a lock", async () => {
    const { report, isFine } = await smokeTest(`${stack.url}/`);

    expect(report).toMatch(/\d+ requests, all as declared$/);
    expect(isFine).toBe(true);
    const rest = ["200", "200 or 404", expect.any(String), "as declared"];
    expect(rowOf(report, "publisher/slug")).toEqual(["publisher/slug", ...rest]);
    for (const each of ["admin-roles/list", "session"]) expect(rowOf(report, each).slice(1, 3)).toEqual(["401", "401"]);
    expect(rowOf(report, "admin-users/id")).toEqual([]);
  });

  it("tests administrative endpoints, too, with a token from a variable or a file", async () => {
    const file = join(inject("cache"), "smoke-token");
    await writeFile(file, `${administrator.token}\n`);
    process.env.SMOKE_TOKEN = administrator.token;
    for (const tokenSource of ["SMOKE_TOKEN", file]) {
      const { report, isFine } = await smokeTest(stack.url, { tokenSource });
      expect([isFine, ...rowOf(report, "admin-roles/list").slice(1, 3)]).toEqual([true, "200", "200"]);
    }

    process.env.SMOKE_TOKEN = "unknown";
    const { report, isFine } = await smokeTest(stack.url, { tokenSource: "SMOKE_TOKEN" });
    expect(isFine).toBe(false);
    expect(rowOf(report, "admin-roles/list").at(-1)).toBe('401 {"data":"Unauthorized","code":401}');
    expect(rowOf(report, "contributors/list").at(-1)).toBe("as declared");
  });

  it("expects the known contributor of a stage's database, which an empty or another one does not have", async () => {
    const empty = await serve((_, response) => response.writeHead(404).end('{"data":"Not found","code":404}'));
    const rowFrom = async (url: string, stage?: string) =>
      rowOf((await smokeTest(url, { stage })).report, "contributor/slug").slice(1);

    expect(await rowFrom(stack.url, "prod")).toEqual(["200", "200", expect.any(String), "as declared"]);
    const missing = ["404", "200", expect.any(String), expect.stringMatching(/^404 /)];
    expect(await rowFrom(empty.url, "prod")).toEqual(missing);
    expect((await rowFrom(empty.url)).slice(0, 2)).toEqual(["404", "200 or 404"]);
    await empty.close();
  });

  it("waits for a database that wakes up", async () => {
    let calls = 0;
    const waking = await serve((_, response) => {
      calls += 1;
      response.writeHead(calls === 1 ? 503 : 404, { "Retry-After": "1" }).end('{"data":"Not found","code":404}');
    });
    const { report } = await smokeTest(waking.url);
    await waking.close();

    expect(report).not.toContain("503");
  });

  it.each<{ flaw: string; listener: RequestListener }>([
    { flaw: "no JSON: <html>", listener: (_, response) => response.end("<html>") },
    { flaw: "not as declared: ", listener: (_, response) => response.end("{}") },
    { flaw: "302", listener: (_, response) => response.writeHead(302, { Location: "/" }).end() },
    { flaw: "no response: ", listener: (request) => request.destroy() },
  ])("finds fault with a server: $flaw", async ({ flaw, listener }) => {
    const server = await serve(listener);
    const { report, isFine } = await smokeTest(server.url);
    await server.close();

    expect(isFine).toBe(false);
    expect(rowOf(report, "contributors/list").at(-1)).toContain(flaw);
    expect(report).toMatch(/(\d+) requests, \1 not as declared$/);
  });

  it.each([
    { message: "There is no stage staging", url: "http://localhost", options: { stage: "staging" } },
    { message: "example.com is no URL", url: "example.com", options: {} },
    { message: "NO_SUCH_TOKEN", url: "http://localhost", options: { tokenSource: "NO_SUCH_TOKEN" } },
    { message: "only by https", url: "http://api.example.com", options: { tokenSource: "SMOKE_TOKEN" } },
  ])("refuses words: $message", async ({ message, url, options }) => {
    process.env.SMOKE_TOKEN = administrator.token;

    await expect(smokeTest(url, options)).rejects.toThrow(message);
  });

  it("ends with 1 when something is not as declared", async () => {
    const server = await serve((_, response) => response.end("<html>"));
    const run = (url: string) => runScript("infra/smoke/smoke.ts", [url]);

    expect(await run(stack.url)).toMatchObject({ code: 0, output: expect.stringContaining("all as declared") });
    expect(await run(server.url)).toMatchObject({ code: 1 });
    await server.close();
  });
});
