import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { SourceMap } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { type ServiceProcess, startProcess } from "../../../support/service-process.ts";

// Each start is a process, a build and a PostgreSQL; other tests use the machine as well.
vi.setConfig({ testTimeout: 90_000 });
const root = join(import.meta.dirname, "../../../..");
let service: ServiceProcess;
let debug: Awaited<ReturnType<typeof connect>> | undefined;

beforeAll(async () => {
  service = await startProcess({ flags: ["--empty", "--inspect=0"] });
});

afterAll(async () => {
  debug?.close();
  await service.stop();
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

it("stops a function at a line of its TypeScript, without a timeout", async () => {
  const url = `${service.url}/publisher/slug/nobody`;
  await fetch(url);
  debug = await connect(/ws:\/\/\S+/.exec(service.output())?.[0] ?? "");
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
  const code = (await readFile(join(root, source), "utf8")).split("\n");
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
});
