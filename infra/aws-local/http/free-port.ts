import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/** The system itself gives higher ones to connections, and to servers that name none (Linux: from 32,768). */
const lowest = 10_000;
const highest = 32_767;

/** A port of this machine that nothing uses, and that nothing gets by chance until a server listens on it. */
export async function freePort(): Promise<number> {
  const port = randomInt(lowest, highest + 1);
  return (await isFree(port)) ? port : await freePort();
}

export async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const isListening = await new Promise<boolean>((resolve, reject) => {
    server
      .once("error", (error: NodeJS.ErrnoException) => (error.code === "EADDRINUSE" ? resolve(false) : reject(error)))
      .listen(port, "127.0.0.1", () => resolve(true));
  });
  if (isListening) await new Promise((done) => server.close(done));
  return isListening;
}
