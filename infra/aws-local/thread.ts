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
export async function inThread<Options>(given: Start<Options>, onExit: (reason: string) => void): Promise<Server> {
  // The folder's name is the thread's, also for the operating system.
  const [name = ""] = given.module.split("/").slice(-2);
  const worker = new Worker(new URL(import.meta.url), { name, workerData: given, execArgv: [] });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let isClosing = false;
  let reason = "";
  worker.once("message", resolve);
  worker.once("error", (error) => {
    reason = error instanceof Error ? error.message : String(error);
  });
  const ended = new Promise<void>((done) => {
    worker.once("exit", (code) => {
      reject(new Error(reason));
      if (!isClosing) onExit(reason || `its thread ended with ${code}`);
      done();
    });
  });
  const url = await promise;
  return {
    url,
    async close() {
      isClosing = true;
      worker.postMessage("close");
      await ended;
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
