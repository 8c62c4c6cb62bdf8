import { randomBytes } from "node:crypto";
import { chown, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { platform } from "node:os";
import { join } from "node:path";
import type { Programs } from "./programs.ts";

/** A cluster's superuser, whose password is in a file of the cluster. */
const user = "postgres";
const passwordFile = "password";

/** A locale of UTF-8 that systems have without an installation. Under Windows PostgreSQL takes UTF-8 with any locale. */
const characterTypes = { darwin: "en_US.UTF-8", win32: "C" }[platform() as string] ?? "C.UTF-8";

/**
 * Creates the cluster under another name and renames it, so that there is never half a cluster. It orders text as Aurora's
 * en_US.UTF-8 does, and knows the same letters; with neither can an index serve `like`.
 */
export async function createCluster({ account, run }: Programs, directory: string, durable: boolean): Promise<void> {
  const unfinished = `${directory}.unfinished`;
  const cluster = join(unfinished, "cluster");
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(cluster, { recursive: true, mode: 0o700 });
  await writeFile(join(unfinished, passwordFile), randomBytes(16).toString("hex"), { mode: 0o600 });
  if (account)
    for (const path of [unfinished, cluster, join(unfinished, passwordFile)])
      await chown(path, account.uid, account.gid);
  await run("initdb", [
    `--pgdata=${cluster}`,
    `--username=${user}`,
    `--pwfile=${join(unfinished, passwordFile)}`,
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--locale-provider=icu",
    "--icu-locale=en-US",
    "--locale=C",
    `--lc-ctype=${characterTypes}`,
    "--lc-messages=C",
    // The password is random, so stretching it would only make connections slower.
    "--set=scram_iterations=1",
    ...(durable ? [] : ["--no-sync"]),
  ]);
  await rename(join(unfinished, passwordFile), join(cluster, passwordFile));
  await rename(cluster, directory);
  await rm(unfinished, { recursive: true });
}

/** What PostgreSQL writes about the server of a cluster while it runs: process, directory, time, port and more. */
export const stateFile = (directory: string): string => join(directory, "postmaster.pid");

/**
 * The server that runs over a cluster, in whichever process it was started.
 * @returns its URL, without database
 */
export async function runningPostgres(directory: string): Promise<string> {
  const files = [stateFile(directory), join(directory, passwordFile)].map((file) => readFile(file, "utf8"));
  const [state = "", password] = await Promise.all(files).catch((cause) => {
    throw new Error(`No database runs over ${directory}: is npm start running?`, { cause });
  });
  return `postgres://${user}:${password}@127.0.0.1:${state.split("\n")[3]}`;
}
