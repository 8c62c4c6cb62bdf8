import { type ChildProcess, fork, spawn } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../infra/aws-local/http/free-port.ts";

export interface Server {
  readonly url: string;
  readonly processId: number;
  close(): Promise<void>;
}

const root = join(import.meta.dirname, "../..");
const startingSecondsMax = 300;

/** The service as `npm start` runs it, of this checkout or another one. */
export async function startService(
  directory: string,
  { checkout = root, flags = [], env = {} }: { checkout?: string; flags?: string[]; env?: NodeJS.ProcessEnv },
): Promise<Server> {
  const port = `${await freePort()}`;
  const own = ["--port", port, "--data", directory, "--no-uploads"];
  const child = spawn(process.execPath, [join(checkout, "infra/local/start.ts"), ...own, ...flags], {
    cwd: checkout,
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const url = `http://127.0.0.1:${port}`;
  const close = () => ended(child);
  await untilUp(`${url}/contributors?client=1&limit=1`, child).catch(async (error) => {
    await close();
    throw error;
  });
  return { url, processId: child.pid ?? 0, close };
}

/** A server that sends its port when it is ready. */
export async function startChild(file: string, ...args: string[]): Promise<Server> {
  const child = fork(file, args, { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const port = await new Promise<unknown>((resolve, reject) => {
    child.once("message", resolve);
    child.once("exit", (code) => reject(new Error(`The measured process ended with ${code}`)));
  });
  const url = `http://127.0.0.1:${port}`;
  return { url, processId: child.pid ?? 0, close: () => ended(child) };
}

async function untilUp(url: string, child: ChildProcess): Promise<void> {
  for (let tenths = 0; tenths < 10 * startingSecondsMax; tenths++) {
    const response = await fetch(url).catch(() => undefined);
    await response?.body?.cancel();
    if (response?.ok) return;
    if (child.exitCode !== null) break;
    await sleep(100);
  }
  throw new Error(`${url} does not respond`);
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once("exit", resolve));
  child.kill();
  await exit;
}
