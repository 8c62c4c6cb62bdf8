import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { SourceMap } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { runningPostgres, stateFile } from "../../../infra/aws-local/postgres/cluster.ts";
import { readable } from "../../../infra/local/log.ts";
import { openDatabase } from "../../support/database.ts";
import { type ServiceProcess, startProcess } from "../../support/service-process.ts";

const time = new Date(2026, 10, 22, 18, 5, 9).toISOString();
const line = (fields: object) => readable(JSON.stringify({ time, requestId: "r-1", ...fields }));

describe("A log line in a terminal", () => {
  const error = {
    name: "Error",
    message: "top\nmore",
    stack: "Error: top\nmore\n    at serve (lib/a.ts:1:1)\n    at async f (/x/node_modules/y.js:1:1)",
    cause: { name: "TypeError", message: "deep", stack: "TypeError: deep\n    at query (lib/b.ts:2:2)" },
  };
  const ofLambda = { errorType: "RangeError", errorMessage: "too far", trace: ["RangeError: too far", "    at here"] };
  const long = "x".repeat(500);

  it.each([
    {
      what: "an error, with its cause",
      fields: { level: "error", endpoint: "admin-roles-edit", status: 500, response: "Internal", error },
      lines: [
        ...["18:05:09 error 500 admin-roles-edit Error: top (request r-1)", "    more", "    at serve (lib/a.ts:1:1)"],
        ...["    caused by TypeError: deep", "    at query (lib/b.ts:2:2)"],
      ],
    },
    {
      what: "an error that Lambda logs",
      fields: { level: "error", function: "ops-tidy", ...ofLambda },
      lines: ["18:05:09 error ops-tidy RangeError: too far (request r-1)", "    at here"],
    },
    {
      what: "a long message",
      fields: { level: "warn", endpoint: "publishers-list", error: { message: long } },
      lines: [`18:05:09 warn publishers-list Error: ${long.slice(0, 160)}… (request r-1)`, `    ${long}`],
    },
  ])("of $what is short, with traces below", ({ fields, lines }) => {
    expect(line(fields)).toBe(lines.join("\n"));
  });

  it.each(["plain text", "[1]", '{"a":1}', "{", "null"])("that is %s stays as it is", (text) => {
    expect(readable(text)).toBe(text);
  });
});

// biome-ignore lint/suspicious/noExplicitAny: messages of the protocol are of every shape
type Message = any;

/**
 * A client of the inspector (Chrome DevTools Protocol, with Node.js' domain for threads). The threads attach one after
 * another; each one's debugger is enabled as soon as it does.
 */
async function connect(url: string) {
  const socket = new WebSocket(url);
  await once(socket, "open");
  const heard: Message[] = [];
  let id = 0;
  const post = (method: string, params: object) => socket.send(JSON.stringify({ id: ++id, method, params }));
  const postTo = (sessionId: string, method: string, params: object = {}) => {
    const message = JSON.stringify({ id: ++id, method, params });
    post("NodeWorker.sendMessageToWorker", { sessionId, message });
  };
  socket.addEventListener("message", ({ data }) => {
    const { method, params } = JSON.parse(data);
    if (method === "NodeWorker.attachedToWorker") postTo(params.sessionId, "Debugger.enable");
    if (method === "NodeWorker.receivedMessageFromWorker")
      heard.push({ session: params.sessionId, ...JSON.parse(params.message) });
  });
  post("NodeWorker.enable", { waitForDebuggerOnStart: false });
  return {
    postTo,
    /** The first such message of a thread, with the thread's session. */
    hear: (isRight: (message: Message) => boolean): Promise<Message> =>
      vi.waitFor(() => heard.find(isRight) ?? Promise.reject(new Error("Nothing is heard")), { timeout: 60_000 }),
    close: () => socket.close(),
  };
}

describe("npm start in a terminal, without the demo data, and with a debugger", () => {
  let service: ServiceProcess;

  beforeAll(async () => {
    const env = { NODE_OPTIONS: "--import=data:text/javascript,process.stdout.isTTY=true" };
    service = await startProcess({ flags: ["--empty", "--inspect=0"], env });
  });

  afterAll(() => service.stop());

  it("prints no token, and no request that would find nothing", async () => {
    expect(service.output()).not.toContain("local-");
    expect(service.output()).toContain("ops/create-user");
    expect([...service.output().matchAll(/curl .*/g)]).toHaveLength(1);
    expect(await (await fetch(`${service.url}/docs`)).text()).not.toContain("local-");
  });

  it("stops a function at a line of its TypeScript, without a timeout", async () => {
    const url = `${service.url}/publisher/slug/nobody`;
    await fetch(url);
    const debug = await connect(/ws:\/\/\S+/.exec(service.output())?.[0] ?? "");
    const { session, params: script } = await debug.hear(
      ({ method, params }) => method === "Debugger.scriptParsed" && params.url.endsWith("publisher/slug/index.mjs"),
    );
    const bundle = fileURLToPath(script.url);
    const text = await readFile(bundle, "utf8");
    const before = text.slice(0, text.indexOf("id, name, slug, coalesce(")).split("\n");
    const place = { lineNumber: before.length - 1, columnNumber: before.at(-1)?.length };
    debug.postTo(session, "Debugger.setBreakpoint", { location: { scriptId: script.scriptId, ...place } });
    await debug.hear(({ result }) => result?.breakpointId !== undefined);

    const response = fetch(url);
    const paused = await debug.hear(({ method }) => method === "Debugger.paused");

    const [{ location }] = paused.params.callFrames;
    const map = new SourceMap(JSON.parse(await readFile(`${bundle}.map`, "utf8")));
    const source = "lib/queries/publishers.ts";
    const code = (await readFile(source, "utf8")).split("\n");
    const first = code.findIndex((line) => line.startsWith("export const find"));
    expect(location.scriptId).toBe(script.scriptId);
    // V8 stops where it next can, which may be a line or two within the same statement.
    const lines = code.flatMap((_, line) => (line > first && line < code.indexOf("`;", first) ? [line] : []));
    expect(map.findEntry(location.lineNumber, location.columnNumber)).toMatchObject({
      originalSource: expect.stringContaining(source),
      originalLine: expect.toBeOneOf(lines),
    });
    debug.postTo(session, "Debugger.resume");
    expect((await response).status).toBe(404);
    debug.close();
  });

  it("prints a short line for each request, and the trace of an error", async () => {
    const sql = openDatabase(`${await runningPostgres(join(service.directory, "postgres"))}/colophon`, { max: 1 });
    await sql`drop table publishers cascade`;
    await sql.end();
    service.forget();
    expect((await fetch(`${service.url}/nowhere?token=secret`)).status).toBe(404);
    expect((await fetch(`${service.url}/publishers`)).status).toBe(500);
    await expect.poll(service.output).toMatch(/500 GET \/publishers.*\n/);

    const lines = service
      .output()
      .replaceAll(/^\d\d:\d\d:\d\d /gm, "")
      .replaceAll(/[\d.]+ ms$/gm, "1 ms")
      .split("\n");

    expect(lines.filter((line) => line.endsWith(" ms"))).toEqual(["404 GET /nowhere 1 ms", "500 GET /publishers 1 ms"]);
    const error = /^error 500 publishers-list DatabaseErrorException: ERROR: relation "publishers" does not exist/;
    expect(lines[1]).toMatch(error);
    expect(lines).toContainEqual(expect.stringMatching(/^ {4}at .*lib\/data-api\/client\.ts:\d+:\d+\)?$/));
  });

  it("starts PostgreSQL again when it is killed, and ends when that happens too often", async () => {
    const postgres = join(service.directory, "postgres");
    service.forget();
    for (const times of [1, 2, 3, 4]) {
      process.kill(Number((await readFile(stateFile(postgres), "utf8")).split("\n")[0]), "SIGKILL");
      if (times < 4) await expect.poll(() => service.output().split("PostgreSQL is up again").length - 1).toBe(times);
      if (times === 1) expect((await fetch(`${service.url}/contributors?client=1`)).status).toBe(200);
    }

    expect(await service.ended).toBe(1);
    expect(service.output()).toContain("PostgreSQL has ended more than 3 times within a minute\n");
  });
});
