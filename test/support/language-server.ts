import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

/** What an editor shows of a text. A place in it is where these characters occur first, within the first of a line. */
export type Editor = Awaited<ReturnType<typeof openEditor>>;

/**
 * Opens a text as a file of this project, which need not exist, in the compiler, which editors use by the Language Server
 * Protocol.
 */
export async function openEditor(file: string, text: string) {
  const server = spawn(join(root, "node_modules/.bin/tsc"), ["--lsp", "--stdio"], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  const exit = once(server, "exit");
  const waiting = new Map<number, (result: unknown) => void>();
  let received = Buffer.alloc(0);
  let requests = 0;

  server.stdout.on("data", (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    for (let body = firstBody(received); body !== undefined; body = firstBody(received)) {
      received = received.subarray(body.end);
      const { id, method, params, result } = JSON.parse(body.text);
      // The server asks for settings, of which there are none.
      if (method && id !== undefined) send({ id, result: params?.items?.map(() => null) ?? null });
      else waiting.get(id)?.(result);
    }
  });

  function send(message: object) {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    server.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  }

  // biome-ignore lint/suspicious/noExplicitAny: each method has a result of its own
  const ask = (method: string, params: object = {}): Promise<any> =>
    new Promise((resolve, reject) => {
      const id = ++requests;
      waiting.set(id, resolve);
      exit.then(() => reject(new Error(`tsc has ended before its response to ${method}`)));
      send({ id, method, params });
    });

  const plain = { contentFormat: ["plaintext"] };
  await ask("initialize", {
    processId: null,
    rootUri: `file://${root}`,
    capabilities: { textDocument: { hover: plain } },
  });
  send({ method: "initialized", params: {} });
  const textDocument = { uri: `file://${join(root, file)}` };
  const document = { ...textDocument, languageId: "typescript", version: 1, text };
  send({ method: "textDocument/didOpen", params: { textDocument: document } });

  const at = (place: string, line: string, offset: number) => {
    const before = text.slice(0, text.indexOf(place, text.indexOf(line)) + offset).split("\n");
    return { textDocument, position: { line: before.length - 1, character: before.at(-1)?.length } };
  };
  return {
    /** What it shows for the word at this place, with its docstring. */
    hover: async (place: string, line = ""): Promise<string> =>
      (await ask("textDocument/hover", at(place, line, 1))).contents.value,
    /** What it offers behind this place. */
    completions: async (place: string, line = ""): Promise<string[]> => {
      const { items } = await ask("textDocument/completion", at(place, line, place.length));
      return items.map(({ label }: { label: string }) => label);
    },
    /** What it underlines, with the line, counted from 0. */
    problems: async (): Promise<{ message: string; range: { start: { line: number } } }[]> =>
      (await ask("textDocument/diagnostic", { textDocument })).items,
    close: async () => {
      await ask("shutdown");
      send({ method: "exit" });
      await exit;
    },
  };
}

/** The first message that has arrived whole: headers, an empty line, and JSON. */
function firstBody(received: Buffer): { readonly text: string; readonly end: number } | undefined {
  const start = received.indexOf("\r\n\r\n") + 4;
  const [, length] = /Content-Length: (\d+)/.exec(received.toString("latin1", 0, start)) ?? [];
  const end = start + Number(length);
  return start > 3 && received.length >= end ? { text: received.toString("utf8", start, end), end } : undefined;
}
