import { execFile, spawnSync } from "node:child_process";
import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
  utimes,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

/*
 * PostgreSQL refuses to run as root, so root runs it as another user, who often may not enter root's folders. The data stay
 * there, because setpriv leaves that user one right of root's: to ignore the permissions of files. For its own programs
 * initdb asks access(2), which does not know of that right, so they are copied to a folder that every user may enter.
 */

/** The user who runs PostgreSQL for root. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
  /** The flags by which setpriv lets this user ignore permissions. Undefined without setpriv, which only Linux has. */
  readonly setpriv: readonly string[] | undefined;
}

/** The machine's postgres user, or else nobody. */
export async function unprivilegedAccount(): Promise<Account> {
  const lines = (await readFile("/etc/passwd", "utf8")).split("\n").map((line) => line.split(":"));
  const found = lines.find(([name]) => name === "postgres") ?? lines.find(([name]) => name === "nobody");
  if (!found) throw new Error("PostgreSQL cannot run as root, and there is neither a user postgres nor nobody");
  const [uid, gid] = [Number(found[2]), Number(found[3])];
  const identity = [`--reuid=${uid}`, `--regid=${gid}`, "--clear-groups"];
  const setpriv = [...identity, "--inh-caps=+dac_override", "--ambient-caps=+dac_override", "--"];
  return { uid, gid, setpriv: spawnSync("setpriv", [...setpriv, "true"]).status === 0 ? setpriv : undefined };
}

const exec = promisify(execFile);

/**
 * Copies the programs, unless that was done before. Copies that no start has used for a month are removed.
 * @param native their folder in the npm package
 * @param parent where only root can write, so that no other user can put other programs there
 */
export async function copyPrograms(native: string, parent = "/var/cache/aws-local"): Promise<string> {
  const { version } = JSON.parse(await readFile(join(native, "../package.json"), "utf8"));
  // Without the package's install script links are missing, and such a copy must not be kept for good.
  const files = (await readdir(native, { recursive: true })).sort().join();
  const folder = join(parent, `postgres-${version}-${hash("sha256", files).slice(0, 12)}`);
  await openFolder(parent);
  if (!existsSync(folder)) {
    await exec("find", [parent, "-mindepth", "1", "-maxdepth", "1", "-mtime", "+30", "-exec", "rm", "-r", "{}", "+"]);
    const draft = await mkdtemp(`${folder}-`);
    // Without the files' owners, who could change the copies.
    await exec("cp", ["-R", `${native}/.`, draft]);
    await exec("chmod", ["-R", "u=rwX,go=rX", draft]);
    // Another process may have been faster.
    await rename(draft, folder).catch(() => rm(draft, { recursive: true }));
  }
  await expectRootOnly(folder);
  await utimes(folder, new Date(), new Date());
  return folder;
}

/** Creates a folder that every user may enter and only root may change. */
async function openFolder(folder: string): Promise<void> {
  if (await mkdir(folder, { recursive: true })) await chmod(folder, 0o755);
  await expectRootOnly(folder);
}

async function expectRootOnly(folder: string): Promise<void> {
  const { uid, mode } = await lstat(folder);
  if (uid !== 0 || (mode & 0o022) !== 0)
    throw new Error(`Other users than root can write to ${folder}: remove it, and start again`);
}

/**
 * Finds where a cluster is while PostgreSQL runs: in its directory, unless PostgreSQL cannot enter that. Then the cluster
 * is moved outside, with a link to it in its directory's place. `leave` moves it back after PostgreSQL has ended. A killed
 * process leaves it outside for the next start.
 */
export async function placeOf(directory: string, account: Account | undefined, report: (line: string) => void) {
  if (!account || account.setpriv || (await canEnter(account, dirname(directory))))
    return { directory, leave: async () => {} };
  const parent = "/var/lib/aws-local";
  await openFolder(parent);
  const link = await readlink(directory).catch(() => undefined);
  const outside = link ?? join(parent, hash("sha256", directory).slice(0, 16));
  if (link === undefined) {
    if (existsSync(directory)) {
      await rm(outside, { recursive: true, force: true });
      await exec("mv", [directory, outside]);
    }
    await symlink(outside, directory);
  }
  report(
    `PostgreSQL runs as another user than root, who cannot enter ${directory}: its data are in ${outside} meanwhile`,
  );
  return {
    directory: outside,
    async leave() {
      await rm(directory);
      await exec("mv", [outside, directory]);
    },
  };
}

async function canEnter({ uid, gid }: Account, folder: string): Promise<boolean> {
  await mkdir(folder, { recursive: true });
  return spawnSync("/bin/sh", ["-c", 'test -x "$0"', folder], { uid, gid }).status === 0;
}
