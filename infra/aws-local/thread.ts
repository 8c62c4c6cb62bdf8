import { once } from "node:events";
import { parentPort, Worker, workerData } from "node:worker_threads";

interface Start<Options> {
  /** A module's URL, and the name of its function that starts a server. */
  readonly module: string;
  readonly start: string;
  readonly options: Options;
}

interface Server {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts a server in a thread of its own. When the thread ends before `close`, `onExit` gets the reason. */
export async function inThread<Options>(start: Start<Options>, onExit: (reason: string) => void): Promise<Server> {
  // The folder's name is the thread's, also for the operating system.
  const [name = ""] = start.module.split("/").slice(-2);
  const worker = new Worker(new URL(import.meta.url), { name, workerData: start, execArgv: [] });
  const [url] = await once(worker, "message");
  worker.once("error", (error) => onExit(error instanceof Error ? error.message : String(error)));
  return {
    url,
    async close() {
      worker.postMessage("close");
      await once(worker, "exit");
    },
  };
}

if (parentPort && workerData?.module) {
  const { module, start, options }: Start<unknown> = workerData;
  const server: Server = await (await import(module))[start](options);
  parentPort.once("message", async () => {
    await server.close();
    process.exit();
  });
  parentPort.postMessage(server.url);
}
