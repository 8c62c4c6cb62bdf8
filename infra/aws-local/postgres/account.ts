import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";

/** The user that runs PostgreSQL, which does not run as root. */
export interface Account {
  /** Undefined: the user of this process. */
  owner: { uid: number; gid: number } | undefined;
  spawn(file: string, flags: string[], options: SpawnOptions): ChildProcess;
}

/** Root hands PostgreSQL to the machine's postgres user, or else to nobody. */
export async function unprivilegedAccount(): Promise<Account> {
  if (process.getuid?.() !== 0) return { owner: undefined, spawn };
  const lines = (await readFile("/etc/passwd", "utf8")).split("\n").map((line) => line.split(":"));
  const found = lines.find(([name]) => name === "postgres") ?? lines.find(([name]) => name === "nobody");
  if (!found) throw new Error("PostgreSQL cannot run as root, and there is neither a user postgres nor nobody");
  const owner = { uid: Number(found[2]), gid: Number(found[3]) };
  const prefix = withAccess(owner);
  if (spawnSync(prefix[0], [...prefix.slice(1), "true"]).status !== 0)
    return { owner, spawn: (file, flags, options) => spawn(file, flags, { ...options, ...owner }) };
  return { owner, spawn: (file, flags, options) => spawn(prefix[0], [...prefix.slice(1), file, ...flags], options) };
}

/** Root's directories are often closed to others, so the right to enter them is all that is kept of root's rights. */
function withAccess({ uid, gid }: { uid: number; gid: number }): [string, ...string[]] {
  const identity = [`--reuid=${uid}`, `--regid=${gid}`, "--clear-groups"];
  return ["setpriv", ...identity, "--inh-caps=+dac_override", "--ambient-caps=+dac_override", "--"];
}
