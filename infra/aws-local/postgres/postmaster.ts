import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const pauseInMilliseconds = 50;
const waitInMilliseconds = 10_000;

/** Begins PostgreSQL's setting cluster_name, from which a later start sees which process started a server. */
const ownerPrefix = "colophon-";

export const clusterName = `${ownerPrefix}${process.pid}`;

/** PostgreSQL writes its state to the eighth line of postmaster.pid; pg_ctl waits for the same. */
export async function untilReady(server: ChildProcess, directory: string): Promise<void> {
  const failed = new Promise<never>((_, fail) => {
    server.once("error", fail);
    server.once("exit", async (code) => {
      const log = await readFile(join(directory, "server.log"), "utf8").catch(() => "");
      fail(new Error(`PostgreSQL ended at once (${code}): ${log.trim().split("\n").slice(-5).join("\n")}`));
    });
  });
  const ready = async () => {
    for (const startedAt = Date.now(); Date.now() - startedAt < waitInMilliseconds; await sleep(10)) {
      const lines = await readPidFile(directory);
      if (lines[0] === String(server.pid) && lines[7]?.trim() === "ready") return;
    }
    server.kill("SIGQUIT");
    throw new Error(`PostgreSQL in ${directory} was not ready after ${waitInMilliseconds} ms`);
  };
  await Promise.race([ready(), failed]);
}

async function readPidFile(directory: string): Promise<string[]> {
  const text = await readFile(join(directory, "postmaster.pid"), "utf8").catch(() => "");
  return text.split("\n");
}

/** A shell waits until its pipe is closed, which the end of this process does, also `kill -9`, and stops the server. */
export function endWithThisProcess(server: ChildProcess): ChildProcess {
  const command = `cat >/dev/null; kill -INT ${server.pid}`;
  const guard = spawn("/bin/sh", ["-c", command], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
  server.once("exit", () => guard.kill("SIGKILL"));
  // Neither the server nor the shell keeps this process running.
  for (const handle of [server, guard, guard.stdin as unknown as { unref(): void }]) handle.unref();
  return guard;
}

/**
 * Stops the server of the directory that an earlier process of ours started and did not stop. While that process is
 * alive, this waits for a moment, and then throws.
 */
export async function endOrphan(directory: string, remainingInMilliseconds = 1_000): Promise<void> {
  const processId = Number((await readPidFile(directory))[0]);
  if (!processId || !isAlive(processId)) return;
  const { command, parent } = await describeProcess(processId);
  // A zombie process, in a container without an init process; PostgreSQL would think that it is alive.
  if (command === "") await rm(join(directory, "postmaster.pid"), { force: true });
  // After a restart of the machine another process may have this id.
  if (!command.includes(directory)) return;
  const owner = Number(new RegExp(`cluster_name=${ownerPrefix}(\\d+)`).exec(command)?.[1]);
  if (owner === parent) {
    if (remainingInMilliseconds <= 0) throw new Error(`${directory} is in use by process ${owner}`);
    await sleep(pauseInMilliseconds);
    return await endOrphan(directory, remainingInMilliseconds - pauseInMilliseconds);
  }
  // It removes the file last, so without the file it has ended, even if it is a zombie.
  await end(processId, () => isAlive(processId) && existsSync(join(directory, "postmaster.pid")));
}

/** Ends a server that this process started. */
export async function endServer(server: ChildProcess): Promise<void> {
  if (server.pid === undefined) return;
  await end(server.pid, () => server.exitCode === null && server.signalCode === null);
}

/** SIGINT is PostgreSQL's fast shutdown; SIGQUIT the immediate one, after which the next start recovers. */
async function end(processId: number, isRunning: () => boolean): Promise<void> {
  for (const signal of ["SIGINT", "SIGQUIT"] as const) {
    if (!isRunning()) return;
    process.kill(processId, signal);
    for (const startedAt = Date.now(); Date.now() - startedAt < waitInMilliseconds; await sleep(10))
      if (!isRunning()) return;
  }
  throw new Error(`PostgreSQL (process ${processId}) does not end`);
}

function isAlive(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch {
    return false;
  }
}

async function describeProcess(processId: number): Promise<{ command: string; parent: number }> {
  if (existsSync("/proc/self/status")) {
    const command = await readFile(`/proc/${processId}/cmdline`, "utf8").catch(() => "");
    const status = await readFile(`/proc/${processId}/status`, "utf8").catch(() => "");
    return { command: command.replaceAll("\0", " "), parent: Number(/^PPid:\s*(\d+)/m.exec(status)?.[1]) };
  }
  const child = spawn("ps", ["-o", "ppid=,command=", "-p", String(processId)], { stdio: ["ignore", "pipe", "ignore"] });
  let text = "";
  for await (const chunk of child.stdout) text += chunk;
  const [, parent, command = ""] = /^\s*(\d+)\s+(.*)/s.exec(text) ?? [];
  return { command, parent: Number(parent) };
}
