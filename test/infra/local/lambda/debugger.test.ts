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
  service = await startProcess({ nodeFlags: ["--inspect=127.0.0.1:0"], flags: ["--empty"] });
});

afterAll(async () => {
  debug?.close();
  await service.stop();
});

// biome-ignore lint/suspicious/noExplicitAny: messages of the protocol are of every shape
type Message = any;

/** A client of the inspector (Chrome DevTools Protocol, with Node.js' domain for threads). */
async function connect(url: string) {
  const socket = new WebSocket(url);
  await once(socket, "open");
  const heard: { session: string; message: Message }[] = [];
  socket.addEventListener("message", ({ data }) => {
    const message = JSON.parse(data);
    heard.push({ session: "", message });
    if (message.method === "NodeWorker.receivedMessageFromWorker")
      heard.push({ session: message.params.sessionId, message: JSON.parse(message.params.message) });
  });
  let id = 0;
  const post = (message: object) => socket.send(JSON.stringify({ id: ++id, ...message }));
  return {
    post,
    postTo: (session: string, method: string, params: object = {}) => {
      const message = JSON.stringify({ id: 1_000 + ++id, method, params });
      post({ method: "NodeWorker.sendMessageToWorker", params: { sessionId: session, message } });
    },
    hear: (wanted: (message: Message) => boolean) =>
      vi.waitUntil(() => heard.find(({ message }) => wanted(message)), { timeout: 60_000 }),
    all: (wanted: (message: Message) => boolean) => heard.filter(({ message }) => wanted(message)),
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
  debug.post({ method: "NodeWorker.enable", params: { waitForDebuggerOnStart: false } });
  await debug.hear(({ method }) => method === "NodeWorker.attachedToWorker");
  for (const { message } of debug.all(({ method }) => method === "NodeWorker.attachedToWorker"))
    debug.postTo(message.params.sessionId, "Debugger.enable");
  const isBundle = ({ method, params }: Message) =>
    method === "Debugger.scriptParsed" && params.url.endsWith("publisher/slug/index.mjs");
  const { session, message } = await debug.hear(isBundle);
  const source = "lib/queries/publishers.ts";
  const code = (await readFile(join(root, source), "utf8")).split("\n");
  const first = code.findIndex((text) => text.startsWith("export const find"));
  const bundle = fileURLToPath(message.params.url);
  const breakpoint = await placeOf(bundle, source, first + 1);
  debug.postTo(session, "Debugger.setBreakpoint", { location: { scriptId: message.params.scriptId, ...breakpoint } });
  await debug.hear(({ result }) => result?.breakpointId !== undefined);

  const answer = fetch(url);
  const paused = await debug.hear(({ method }) => method === "Debugger.paused");

  const [{ location }] = paused.message.params.callFrames;
  const entry = (await mapOf(bundle)).findEntry(location.lineNumber, location.columnNumber);
  const place = "originalLine" in entry ? entry : { originalLine: -1, originalSource: "" };
  // V8 stops where it next can, which may be a line or two within the same statement.
  expect(location.scriptId).toBe(message.params.scriptId);
  expect(place.originalSource).toContain(source);
  expect(place.originalLine).toBeGreaterThan(first);
  expect(place.originalLine).toBeLessThan(code.indexOf("});", first));
  debug.postTo(session, "Debugger.resume");
  expect((await answer).status).toBe(404);
});
