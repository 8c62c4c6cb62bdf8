import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { vi } from "vitest";
import { freePort } from "../../infra/aws-local/http/free-port.ts";
import { copyEmptyCluster } from "./own-postgres.ts";

export type ServiceProcess = Awaited<ReturnType<typeof startProcess>>;

export interface ServiceProcessOptions {
  /** A copy of the project. */
  readonly project?: string;
  /** Default: a free port, and a new directory with an empty cluster. */
  readonly port?: number;
  readonly directory?: string;
  /** Default: false. */
  readonly uploads?: boolean;
  readonly flags?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

/**
 * Runs `npm start`. Resolves when it is ready.
 * @throws an error with its output when it ends before
 */
export async function startProcess({
  project = ".",
  port,
  directory: earlier,
  uploads = false,
  flags = [],
  env,
}: ServiceProcessOptions = {}) {
  const directory = earlier ?? (await mkdtemp(join(tmpdir(), "colophon-process-")));
  if (!env?.COLOPHON_DATABASE_URL && !earlier) await copyEmptyCluster(join(directory, "postgres"));
  const ownPort = port ?? (await freePort());
  const own = ["--port", `${ownPort}`, "--data", directory, ...(uploads ? [] : ["--no-uploads"])];
  const child = spawn(process.execPath, [join(project, "infra/local/start.ts"), ...own, ...flags], {
    env: { ...process.env, ...env },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk) => {
      output += chunk;
    });
  const ended = once(child, "exit").then(([code]) => code);
  const stop = async () => {
    child.kill("SIGTERM");
    await ended;
    await rm(directory, { recursive: true, force: true });
  };
  const isUp = () => {
    if (child.exitCode !== null) throw new Error(output);
    return output.includes("Try:");
  };
  await vi.waitUntil(isUp, { timeout: 90_000, interval: 100 }).catch(async (error) => {
    await stop();
    throw error;
  });
  return {
    pid: child.pid,
    directory,
    url: `http://localhost:${ownPort}`,
    /** Resolves with the exit code. */
    ended,
    /** The output since the last `forget`. */
    output: () => output,
    forget() {
      output = "";
    },
    /** Stops the process and removes its data. */
    stop,
  };
}
