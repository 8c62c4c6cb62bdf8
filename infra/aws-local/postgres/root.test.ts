import { chmod, chown, lstat, mkdir, mkdtemp, readdir, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { withConnection } from "./connection.ts";
import { copyPrograms } from "./root.ts";
import { type Postgres, startPostgres } from "./server.ts";

const nobody = 65_534;
/** Only root may enter it. */
let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "aws-local-root-"));
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(directory, { recursive: true });
});

describe.runIf(process.getuid?.() === 0)("The copy of the programs", () => {
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

describe.runIf(process.getuid?.() === 0)("PostgreSQL of root in a folder that only root may enter", () => {
  const cluster = () => join(directory, "cluster");
  const lines: string[] = [];
  const start = () => startPostgres({ directory: cluster(), durable: false, report: (line) => lines.push(line) });

  const run = (server: Postgres, statement: string): Promise<unknown> =>
    withConnection(`${server.url}/postgres`, async (client) => {
      const { rows } = await client.query({ text: statement, rowMode: "array" });
      return rows[0]?.[0];
    });

  async function withoutSetpriv(): Promise<void> {
    await writeFile(join(directory, "setpriv"), "#!/bin/sh\nexit 127", { mode: 0o755 });
    vi.stubEnv("PATH", `${directory}:${process.env.PATH}`);
  }

  it("keeps its data there", async () => {
    lines.length = 0;
    const server = await start();

    expect(await run(server, "show data_directory")).toBe(cluster());
    expect(lines).toEqual([]);
    await server.stop();
  });

  it("without setpriv does not move the data of a server that runs", async () => {
    const server = await start();
    await withoutSetpriv();

    await expect(start()).rejects.toThrow(`${cluster()} is in use by process ${process.pid}`);

    expect((await lstat(cluster())).isDirectory()).toBe(true);
    vi.unstubAllEnvs();
    await server.stop();
  });

  it("without setpriv has them outside while it runs, and says so", async () => {
    const first = await start();
    await run(first, "create table note as select 'kept' as text");
    await first.stop();
    await withoutSetpriv();
    lines.length = 0;

    const second = await start();

    const outside = String(await run(second, "show data_directory"));
    expect(await run(second, "select text from note")).toBe("kept");
    expect(outside).toMatch(/^\/var\/lib\/aws-local\/\w+$/);
    expect(lines).toEqual([expect.stringContaining(`its data are in ${outside}`)]);
    // As after kill -9: the link stays.
    process.kill(second.processId, "SIGKILL");
    await second.ended;
    const third = await start();
    expect(await run(third, "select text from note")).toBe("kept");
    await third.stop();
    expect((await lstat(cluster())).isDirectory()).toBe(true);
    await expect(lstat(outside)).rejects.toThrow("ENOENT");
    vi.unstubAllEnvs();
    const fourth = await start();
    expect(await run(fourth, "select text from note")).toBe("kept");
    await fourth.stop();
  });
});
