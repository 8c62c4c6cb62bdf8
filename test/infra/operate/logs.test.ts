import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type LogsOptions, printLogs } from "../../../infra/operate/logs.ts";
import { serveApis } from "../../support/aws-apis.ts";
import { makeCloudWatchLogs } from "../../support/cloudwatch-logs.ts";
import { runScript } from "../../support/script.ts";

const logs = makeCloudWatchLogs();

beforeAll(async () => (await serveApis(["CLOUDWATCH_LOGS"], [logs.result])).close);

const hour = 3_600_000;
const now = Date.now();
const access = "/colophon/prod/access";
const functions = "/colophon/prod/functions";
const operators = "/colophon/prod-database/functions";
const id = "5f0c3f6e-0000-4000-8000-000000000001";
const invocation = "77d1de60-0000-4000-8000-000000000002";
const today = new Date(now).toISOString().slice(0, 10).replaceAll("-", "/");

let number = 0;
/** A line so many milliseconds before now, of a function's environment. */
const add = (group: string, ago: number, message: string, logStreamName = "") =>
  logs.events.get(group)?.push({ eventId: `${number++}`, timestamp: now - ago, message, logStreamName });

const addAccess = (ago: number, fields: object) => {
  const line = { requestId: id, time: "1", ip: "192.0.2.1", method: "GET", route: "/publishers", status: "200" };
  add(access, ago, JSON.stringify({ ...line, errorType: "-", ...fields, milliseconds: 35 }));
};
const stream = (name: string) => `${today}/colophon-prod-${name}[7]0123456789abcdef`;
const addLogged = (ago: number, name: string, fields: object, invokedAs = invocation) => {
  const common = { level: "info", time: "2026-11-23T10:00:00.000Z", endpoint: name, invocationId: invokedAs };
  add(functions, ago, `${JSON.stringify({ ...common, ...fields })}\n`, stream(name));
};

beforeEach(() => {
  for (const group of [access, functions, operators]) logs.events.set(group, []);
  logs.requests.length = 0;
});

async function print(options: Partial<LogsOptions> = {}): Promise<string[]> {
  const lines: string[] = [];
  const given = { stage: "prod", sinceInMilliseconds: hour, ...options };
  expect(await printLogs({ ...given, print: (line) => lines.push(line) })).toBe(lines.length);
  // The time is that of the machine.
  return lines.map((line) => line.replace(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z /, ""));
}

describe("npm run logs -- --request", () => {
  it("joins the lines of gateway, function and Lambda, newest last", async () => {
    addAccess(10, {});
    addAccess(20, { requestId: "another" });
    addLogged(30, "publishers-list", { requestId: id, path: "/publishers", status: 200, durationInMilliseconds: 12.3 });
    addLogged(25, "publishers-list", { requestId: "another" }, "another");
    add(functions, 40, `START RequestId: ${invocation} Version: 7\n`, stream("publishers-list"));
    add(functions, 5, `REPORT RequestId: ${invocation}\tDuration: 13.10 ms\n`, stream("publishers-list"));
    add(functions, 6, "REPORT RequestId: another\tDuration: 13.10 ms\n", stream("publishers-list"));

    const lines = await print({ request: id });

    expect(lines).toEqual([
      "publishers-list 200 /publishers 12.3 ms",
      'gateway 200 GET /publishers 35 ms ip="192.0.2.1"',
      `publishers-list REPORT RequestId: ${invocation} Duration: 13.10 ms`,
    ]);
  });

  it("finds a line of the database's functions, and one that is older than an hour", async () => {
    const text = JSON.stringify({ level: "error", endpoint: "ops-migrate", requestId: id, message: "deep" });
    add(operators, 20 * hour, `2026-11-23T10:00:00.000Z\t${id}\tERROR\t${text}`, stream("ops-migrate"));

    expect(await print({ request: id, sinceInMilliseconds: 24 * hour })).toEqual([
      `ops-migrate error ops-migrate deep (request ${id})`,
    ]);
    expect(await print({ request: id })).toEqual([]);
  });
});

describe("npm run logs", () => {
  it("shows errors alone: of functions, of Lambda, and responses from 500", async () => {
    const error = { name: "Error", message: "deep", stack: "Error: deep\n    at f (lib/a.ts:1:1)" };
    addLogged(50, "session", { level: "warn", requestId: id, message: "slow" });
    addLogged(40, "session", { level: "error", requestId: id, error });
    const timeout = `2026-11-23T10:00:00.000Z ${invocation} Task timed out after 29.00 seconds`;
    add(functions, 30, `${timeout}\n`, stream("session"));
    addAccess(20, { status: "503", errorType: "INTEGRATION_FAILURE" });
    addAccess(10, { status: "404" });

    expect(await print({ level: "error" })).toEqual([
      `session error session Error: deep (request ${id})\n    at f (lib/a.ts:1:1)`,
      `session ${timeout}`,
      `gateway 503 GET /publishers 35 ms ip="192.0.2.1" gatewayError="INTEGRATION_FAILURE" (request ${id})`,
    ]);
    expect((await print({ level: "warn" }))[0]).toBe(`session warn session slow (request ${id})`);
  });

  it("shows a line of the gateway that is no JSON as it is, and goes on", async () => {
    add(access, 20, '{"path":"/a"b","status":"404"}');
    addAccess(10, {});

    expect(await print()).toEqual([
      'gateway {"path":"/a"b","status":"404"}',
      expect.stringMatching(/^gateway 200 GET \/publishers /),
    ]);
  });

  it("shows one function, also what an environment of yesterday has logged", async () => {
    addLogged(10, "ops-tidy", { ledgerBytesOfLastDay: 7 });
    addLogged(10, "ops-tidying", { ledgerBytesOfLastDay: 8 });
    addAccess(10, {});

    expect(await print({ path: "ops/tidy" })).toEqual(["ops-tidy ops-tidy ledgerBytesOfLastDay=7"]);

    const yesterday = new Date(now - 24 * hour).toISOString().slice(0, 10).replaceAll("-", "/");
    expect(logs.requests.map(({ logStreamNamePrefix }) => logStreamNamePrefix)).toEqual(
      expect.arrayContaining([`${yesterday}/colophon-prod-ops-tidy[`, `${today}/colophon-prod-ops-tidy[`]),
    );
    await print({ path: "ops/migrate" });
    expect(logs.requests.at(-1)?.logGroupName).toBe(operators);
  });

  it("follows: prints each line once, and one that comes late", async () => {
    const lines: string[] = [];
    const stop = new AbortController();
    addLogged(1_000, "session", { message: "first" });
    const following = printLogs({
      ...{ stage: "prod", sinceInMilliseconds: hour, follow: { everyInMilliseconds: 1, signal: stop.signal } },
      print: (line) => lines.push(line.split(" ").at(-1) ?? ""),
    });
    await expect.poll(() => lines).toEqual(["first"]);

    addLogged(0, "session", { message: "second" });
    await expect.poll(() => lines).toEqual(["first", "second"]);
    addLogged(500, "session", { message: "late" });
    await expect.poll(() => lines).toEqual(["first", "second", "late"]);
    const asked = logs.requests.length;
    await expect.poll(() => logs.requests.length).toBeGreaterThan(asked + 4);
    stop.abort();
    await following;

    expect(lines).toEqual(["first", "second", "late"]);
  });

  it.each([
    { what: "that the stage is missing", words: [], reason: "error: required option '--stage <name>' not specified" },
    {
      what: "what a duration is",
      words: ["--stage", "prod", "--since", "1y"],
      reason: "--since takes a duration such as 30m, 1h or 7d, not 1y",
    },
    {
      what: "which levels there are",
      words: ["--stage", "prod", "--level", "info"],
      reason: "error: option '--level <level>' argument 'info' is invalid. Allowed choices are warn, error.",
    },
    {
      what: "that one request is not followed",
      words: ["--stage", "prod", "--request", id, "--follow"],
      reason: "error: option '--request <id>' cannot be used with option '--follow'",
    },
    {
      what: "that a text is no id of a request",
      words: ["--stage", "prod", "--request", '"'],
      reason: `error: option '--request <id>' argument '"' is invalid. It is no id of a request.`,
    },
    {
      what: "that nothing was logged",
      words: ["--stage", "prod", "--request", id],
      reason: "Nothing was logged in this time",
    },
  ])("says $what", async ({ words, reason }) => {
    const { complaint } = await runScript("infra/operate/logs.ts", words);

    expect(complaint.split("\n")[0]).toBe(reason);
  });
});
