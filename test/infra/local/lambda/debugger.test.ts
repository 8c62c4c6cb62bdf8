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

interface Heard {
  /** Of the thread that it comes from. */
  readonly session: string;
  readonly message: Message;
}

/**
 * A client of the inspector (Chrome DevTools Protocol, with Node.js' domain for threads). The threads attach one after
 * another; each one's debugger is enabled as soon as it does.
 */
async function connect(url: string) {
  const socket = new WebSocket(url);
  await once(socket, "open");
  const heard: Heard[] = [];
  const listeners = new Set<(event: Heard) => void>();
  let id = 0;
  const post = (method: string, params: object) => socket.send(JSON.stringify({ id: ++id, method, params }));
  const postTo = (sessionId: string, method: string, params: object = {}) => {
    const message = JSON.stringify({ id: ++id, method, params });
    post("NodeWorker.sendMessageToWorker", { sessionId, message });
  };
  socket.addEventListener("message", ({ data }) => {
    const { method, params } = JSON.parse(data);
    if (method === "NodeWorker.attachedToWorker") postTo(params.sessionId, "Debugger.enable");
    if (method !== "NodeWorker.receivedMessageFromWorker") return;
    const event = { session: params.sessionId, message: JSON.parse(params.message) };
    heard.push(event);
    for (const listener of listeners) listener(event);
  });
  post("NodeWorker.enable", { waitForDebuggerOnStart: false });
  return {
    postTo,
    /** The first such message of a thread, whether it has come already or not. */
    async hear(isRight: (message: Message) => boolean): Promise<Heard> {
      const earlier = heard.find(({ message }) => isRight(message));
      if (earlier) return earlier;
      const { promise, resolve } = Promise.withResolvers<Heard>();
      const listener = (event: Heard) => isRight(event.message) && resolve(event);
      listeners.add(listener);
      return await promise.finally(() => listeners.delete(listener));
    },
    close: () => socket.close(),
  };
}

const mapOf = async (bundle: string) => new SourceMap(JSON.parse(await readFile(`${bundle}.map`, "utf8")));

/** Where a line of TypeScript went in a bundle, both counted from 0. */
async function placeOf(bundle: string, source: string, line: number) {
  const map = await mapOf(bundle);
  const lines = (await readFile(bundle, "utf8")).split("\n");
  for (const [lineNumber, text] of lines.entries())
    for (let columnNumber = 0; columnNumber < text.length; columnNumber++) {
      const entry = map.findEntry(lineNumber, columnNumber);
      if ("originalLine" in entry && entry.originalLine === line && entry.originalSource.endsWith(source))
        return { lineNumber, columnNumber };
    }
  throw new Error(`${source} has no line ${line} in ${bundle}`);
}

it("stops a function at a line of its TypeScript, without a timeout", async () => {
  const url = `${service.url}/publisher/slug/nobody`;
  await fetch(url);
  debug = await connect(/ws:\/\/\S+/.exec(service.output())?.[0] ?? "");
  const isBundle = ({ method, params }: Message) =>
    method === "Debugger.scriptParsed" && params.url.endsWith("publisher/slug/index.mjs");
  const { session, message } = await debug.hear(isBundle);
  const source = "lib/queries/publishers.ts";
  const code = (await readFile(join(root, source), "utf8")).split("\n");
  const first = code.findIndex((text) => text.startsWith("export const find"));
  // Only a line with code is in the map, and not one with text alone.
  const line = code.findIndex((text, number) => number > first && text.includes("${"));
  const bundle = fileURLToPath(message.params.url);
  const breakpoint = await placeOf(bundle, source, line);
  debug.postTo(session, "Debugger.setBreakpoint", { location: { scriptId: message.params.scriptId, ...breakpoint } });
  await debug.hear(({ result }) => result?.breakpointId !== undefined);

  const response = fetch(url);
  const paused = await debug.hear(({ method }) => method === "Debugger.paused");

  const [{ location }] = paused.message.params.callFrames;
  const entry = (await mapOf(bundle)).findEntry(location.lineNumber, location.columnNumber);
  const place = "originalLine" in entry ? entry : { originalLine: -1, originalSource: "" };
  // V8 stops where it next can, which may be a line or two within the same statement.
  expect(location.scriptId).toBe(message.params.scriptId);
  expect(place.originalSource).toContain(source);
  expect(place.originalLine).toBeGreaterThan(first);
  expect(place.originalLine).toBeLessThan(code.indexOf("`;", first));
  debug.postTo(session, "Debugger.resume");
  expect((await response).status).toBe(404);
});
